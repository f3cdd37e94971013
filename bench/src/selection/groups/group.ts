import type { Contest } from '../../harness/variant.js'

/** Contests of one subject at several sizes. */
export interface Group {
  readonly name: string
  readonly title: string
  /** Workers of its contests, unless the command line names others. */
  readonly sizes: readonly number[]
  readonly contest: (workers: number) => Contest
}
