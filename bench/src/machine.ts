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
