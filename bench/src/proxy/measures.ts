import type { ComputedFigure } from '../harness/figure.js'
import { median } from '../harness/statistics.js'
import type { Load, LoadRequest } from './load.js'
import type { PartProcess } from './part-process.js'
import { type PromptForm, loadKinds, requestsOf } from './prompts.js'
import { Rig, type RigOptions } from './rig.js'

/** How much is asked: turns of floor and router, requests of one turn, and those before all turns. */
export interface Volume {
  readonly turns: number
  readonly requests: number
  readonly warmUp: number
  readonly connections: number
}

const shortVolume: Volume = { turns: 9, requests: 600, warmUp: 5000, connections: 8 }
export const volumes = {
  short: shortVolume,
  long: { turns: 9, requests: 300, warmUp: 1500, connections: 8 },
  stream: { turns: 5, requests: 64, warmUp: 96, connections: 32 },
  latency: { turns: 9, requests: 400, warmUp: 3000, connections: 1 },
  rate: { turns: 7, requests: 2000, warmUp: 6000, connections: 32 },
} as const satisfies Record<string, Volume>

/** Opens a rig for one figure. */
export async function withRig(
  options: RigOptions,
  measure: (rig: Rig) => Promise<ComputedFigure>,
): Promise<ComputedFigure> {
  const rig = await Rig.open(options)
  try {
    return await measure(rig)
  } finally {
    await rig.close()
  }
}

/** CPU of a request in the router, by that in the floor. */
export async function cpuFigure(
  rig: Rig,
  kind: 'short' | 'long' | 'stream',
  form: PromptForm,
): Promise<ComputedFigure> {
  const volume = volumes[kind]
  const request = requestsOf(loadKinds[kind], form)
  const loads = [rig.overFloor, rig.overRouter]
  // What all requests have in common is compiled by short ones: few streams would not do.
  await warmUp(loads, requestsOf(loadKinds.short, form), volumes.short)
  await warmUp(loads, request, volume)
  const [floorUs, routerUs] = await inTurns(volume.turns, [
    () => cpuUsOf(rig.floor, rig.overFloor, request, volume),
    () => cpuUsOf(rig.router, rig.overRouter, request, volume),
  ])
  return byFloor(floorUs!, routerUs!, (us) => `${(us / 1000).toFixed(3)} ms`)
}

/** What the router adds to the median of a short request on one connection, by what the floor adds. */
export async function addedFigure(rig: Rig, form: PromptForm): Promise<ComputedFigure> {
  const volume = volumes.latency
  const request = requestsOf(loadKinds.short, form)
  const loads = [rig.direct, rig.overFloor, rig.overRouter]
  await warmUp(loads, request, volume)
  const [direct, floor, router] = await inTurns(
    volume.turns,
    loads.map((load) => async () => (await load.run(request, volume.requests, volume.connections)).p50Ms),
  )
  const added = (through: readonly number[]): number[] => through.map((ms, turn) => ms - direct![turn]!)
  const { value, note } = byFloor(added(floor!), added(router!), (ms) => `${ms.toFixed(3)} ms`)
  return { value, note: `${note}; direct ${median(direct!).toFixed(3)} ms` }
}

/** What the router adds while every rank publishes, by what it adds while they are silent. */
export async function addedUnderEvents(rig: Rig, batchesPerSecond: number): Promise<ComputedFigure> {
  const volume = volumes.latency
  const request = requestsOf(loadKinds.short, 'tokens')
  await warmUp([rig.direct, rig.overRouter], request, volume)
  const addedMs = async (batches: number): Promise<number> => {
    await rig.publish(batches)
    // The others make way for what they were told.
    await rig.overRouter.run(request, 100, 1)
    const direct = await rig.direct.run(request, volume.requests, volume.connections)
    const routed = await rig.overRouter.run(request, volume.requests, volume.connections)
    return routed.p50Ms - direct.p50Ms
  }
  const [silent, busy] = await inTurns(volume.turns, [() => addedMs(0), () => addedMs(batchesPerSecond)])
  const value = median(busy!.map((ms, turn) => ms / silent![turn]!))
  const text = (ms: readonly number[]): string => `${median(ms).toFixed(3)} ms`
  return { value, note: `${text(busy!)} added, ${text(silent!)} while they are silent` }
}

/** Requests a second on 32 connections through the router, by those through the floor. */
export async function rateFigure(rig: Rig, form: PromptForm): Promise<ComputedFigure> {
  const volume = volumes.rate
  const request = requestsOf(loadKinds.short, form)
  await warmUp([rig.overFloor, rig.overRouter], request, volume)
  const rateOf = async (load: Load): Promise<number> =>
    (1000 * volume.requests) / (await load.run(request, volume.requests, volume.connections)).elapsedMs
  const [floor, router] = await inTurns(volume.turns, [
    () => rateOf(rig.overFloor),
    () => rateOf(rig.overRouter),
  ])
  return byFloor(floor!, router!, (rate) => `${Math.round(rate)} requests/s`)
}

/** CPU that a part takes for one request, microseconds. */
export async function cpuUsOf(
  part: PartProcess<unknown>,
  load: Load,
  request: LoadRequest,
  { requests, connections }: Volume,
): Promise<number> {
  const before = await part.usage()
  await load.run(request, requests, connections)
  const after = await part.usage()
  return (after.cpuUs - before.cpuUs) / requests
}

async function warmUp(loads: readonly Load[], request: LoadRequest, volume: Volume): Promise<void> {
  for (const load of loads) await load.run(request, volume.warmUp, volume.connections)
}

/** Every measure once, then again: A B A B; the values of each. */
export async function inTurns(
  turns: number,
  measures: readonly (() => Promise<number>)[],
): Promise<number[][]> {
  const values: number[][] = measures.map(() => [])
  for (let turn = 0; turn < turns; turn++)
    for (const [at, measure] of measures.entries()) values[at]!.push(await measure())
  return values
}

function byFloor(
  floor: readonly number[],
  router: readonly number[],
  text: (value: number) => string,
): ComputedFigure & { readonly note: string } {
  const value = median(router.map((own, turn) => own / floor[turn]!))
  return { value, note: `${text(median(router))}, the floor ${text(median(floor))}` }
}
