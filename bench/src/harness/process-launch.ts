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
    const figures = await answerOfProcess(entry, measureCommand, task, `${name} at ${workers} workers`)
    return figures as VariantFigures
  }
}

/** Measures one variant and tells the process that forked this one. */
export function serveMeasurement(task: MeasureTask, variant: Variant): void {
  process.send?.(measureVariant(variant, task.effort))
}

/**
 * Runs the program anew and resolves with the message that it sends; rejects when it ends without one or with another exit code than 0.
 * @param what names the task in that error
 */
export async function answerOfProcess(
  entry: string,
  command: string,
  task: object,
  what: string,
): Promise<unknown> {
  const child = fork(entry, [command, JSON.stringify(task)], { execArgv: [] })
  let answer: unknown
  child.on('message', (message) => (answer = message))
  const [exitCode, signal] = (await once(child, 'exit')) as [number | null, string | null]
  if (answer !== undefined && exitCode === 0) return answer
  throw new Error(`the process that measured ${what} ended with ${signal ?? `exit code ${exitCode}`}`)
}
