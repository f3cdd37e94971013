import { cpus, loadavg, totalmem } from 'node:os'
import process from 'node:process'

/** Where figures were taken. */
export interface Machine {
  readonly node: string
  readonly v8: string
  readonly platform: string
  readonly cpu: string
  readonly cores: number
  readonly memoryGiB: number
  /** Runnable processes on average over the last minute, as the bench started; its own processes not yet among them. */
  readonly loadAverage: number
}

export function describeMachine(): Machine {
  const cores = cpus()
  return {
    node: process.version,
    v8: process.versions.v8,
    platform: `${process.platform} ${process.arch}`,
    cpu: cores[0]?.model.trim() ?? 'unknown',
    cores: cores.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    loadAverage: Math.round(loadavg()[0]! * 100) / 100,
  }
}

/** One line for the head of a report. */
export function machineText(machine: Machine): string {
  const { cpu, cores, memoryGiB, platform, node, v8, loadAverage } = machine
  return `${cpu}, ${cores} cores, ${memoryGiB} GiB, ${platform}, node ${node} (V8 ${v8}), load average ${loadAverage} at the start`
}

const busyLoad = 0.5
const fewestRounds = 5

/** What speaks against publishing figures that were taken there, in so many rounds; no or one text. */
export function caveats({ loadAverage }: Machine, rounds: number): string[] {
  const reasons = [
    ...(rounds < fewestRounds ? ['few and short rounds'] : []),
    ...(loadAverage > busyLoad ? [`a machine that was busy (load average ${loadAverage})`] : []),
  ]
  return reasons.length === 0 ? [] : [`Not for publication: ${reasons.join(', ')}.`]
}
