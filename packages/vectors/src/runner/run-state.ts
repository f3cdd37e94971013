/** Facts gathered over all files of a run, so that whole sets can be compared with what is published about them. */
export class RunState {
  /** Picks by the shipped code: row indexes by cell. */
  readonly cells = new Map<string, readonly number[]>()
}
