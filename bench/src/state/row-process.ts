import process from 'node:process'
import { takeFigure } from '../harness/figure-take.js'
import type { FigureRow, FigureTake } from '../harness/figure.js'
import { answerOfProcess } from '../harness/process-launch.js'
import type { Effort } from '../harness/timing.js'
import type { StateBench } from './benches.js'

/** First argument of a process that measures one row. */
export const takeCommand = 'measure-one-row'

/** What such a process measures, as its second argument. */
export interface RowTask {
  readonly bench: string
  readonly group: string
  readonly row: string
  readonly effort: Effort
}

/** What such a process answers. */
export type RowAnswer = { readonly take: FigureTake } | { readonly failure: string }

/** Measures one row of a bench. */
export type LaunchRow = (bench: string, row: FigureRow, effort: Effort) => Promise<FigureTake>

/** A new process for every row and round. @param entry the running program, which must serve `takeCommand` */
export function launchRowProcesses(entry: string): LaunchRow {
  return async (bench, { group, name }, effort) => {
    const task: RowTask = { bench, group, row: name, effort }
    const answer = (await answerOfProcess(entry, takeCommand, task, name)) as RowAnswer
    if ('failure' in answer) throw new Error(answer.failure)
    return answer.take
  }
}

/** Measures the row that the task names and tells the process that forked this one. */
export async function serveRow(task: RowTask, benches: readonly StateBench[]): Promise<void> {
  const answer = await answerTask(task, benches)
  process.send?.(answer)
}

/** The take, or why there is none. */
export async function answerTask(task: RowTask, benches: readonly StateBench[]): Promise<RowAnswer> {
  try {
    const rows = await benches.find(({ name }) => name === task.bench)?.rows()
    const row = rows?.find(({ group, name }) => group === task.group && name === task.row)
    if (row === undefined) throw new Error(`no row ${task.row} in group ${task.group} of bench ${task.bench}`)
    return { take: await takeFigure(row, task.effort) }
  } catch (error) {
    return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}
