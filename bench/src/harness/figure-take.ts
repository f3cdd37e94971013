import { bytesPerCall } from './allocation.js'
import type { FigureRow, FigureTake, Timed, TimedRow } from './figure.js'
import { type BatchTimes, type Effort, batchSize, timeBatches, warmUp } from './timing.js'

const nanosecondsOf: Readonly<Record<string, number>> = { ns: 1, us: 1e3, ms: 1e6 }

/** Builds a row and measures it once, in this process. Throws what the row throws, and for a figure that is no number. */
export async function takeFigure(row: FigureRow, effort: Effort): Promise<FigureTake> {
  const take = 'compute' in row ? await row.compute() : await takeTimed(row, effort)
  if (Number.isFinite(take.value)) return take
  throw new Error(`the figure is ${take.value}`)
}

async function takeTimed(row: TimedRow, effort: Effort): Promise<FigureTake> {
  const timed = await row.setup()
  if (!(timed.perCall > 0)) throw new Error(`perCall is ${timed.perCall}; it must be positive`)
  if (row.countsBytes === true && timed.afterwards !== undefined) {
    throw new Error('a row with afterwards cannot count bytes')
  }
  const times = timeBody(timed, effort)
  const bytes =
    row.countsBytes === true ? bytesPerCall(timed.body, effort.countedMs) / timed.perCall : undefined
  return { ...inUnit(times, timed.perCall, row.unit), ...(bytes === undefined ? {} : { bytes }) }
}

function timeBody({ body, afterwards }: Timed, effort: Effort): BatchTimes {
  if (afterwards === undefined) {
    warmUp(body, effort.warmUpMs)
    return timeBatches(body, batchSize(body), effort.timedMs)
  }
  const bodyAndAfterwards = (): number => {
    const result = body()
    afterwards()
    return result
  }
  warmUp(bodyAndAfterwards, effort.warmUpMs)
  return timeBatches(body, 1, effort.timedMs, afterwards)
}

function inUnit({ p50Ns, p99Ns, meanNs }: BatchTimes, perCall: number, unit: string): FigureTake {
  const nanoseconds = nanosecondsOf[unit]
  return nanoseconds === undefined
    ? { value: (perCall / meanNs) * 1e3 }
    : { value: p50Ns / perCall / nanoseconds, p99: p99Ns / perCall / nanoseconds }
}
