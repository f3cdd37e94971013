import { fork } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import type { Launch } from './contest-run.js'
import type { Effort } from './timing.js'
import { type VariantFigures, measureVariant } from './variant-figures.js'
import type { Variant, VariantName } from './variant.js'

/** First argument of a process that measures one variant. */
export const measureCommand = 'measure-one-variant'

/** What such a process measures, as its second argument. */
export interface MeasureTask {
  readonly group: string
  readonly workers: number
  readonly variant: VariantName
  readonly effort: Effort
}

/**
 * A new process for every variant and round. @param entry the running program, which must serve `measureCommand`
 */
export function launchProcesses(entry: string): Launch {
  return async ({ group, workers }, { name, temperature }, effort) => {
    const task: MeasureTask = { group, workers, variant: { name, temperature }, effort }
    const child = fork(entry, [measureCommand, JSON.stringify(task)], { execArgv: [] })
    let figures: VariantFigures | undefined
    child.on('message', (message) => (figures = message as VariantFigures))
    const [exitCode] = (await once(child, 'exit')) as [number | null]
    if (figures !== undefined && exitCode === 0) return figures
    throw new Error(
      `the process that measured ${name} at ${workers} workers ended with exit code ${exitCode}`,
    )
  }
}

/** Measures one variant and tells the process that forked this one. */
export function serveMeasurement(task: MeasureTask, variant: Variant): void {
  process.send?.(measureVariant(variant, task.effort))
}
