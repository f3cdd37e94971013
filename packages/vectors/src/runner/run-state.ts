/** Facts gathered over all files of a run, so that whole sets can be compared with what is published about them. */
export class RunState {
  /** Picks by the shipped code, as row indexes of the parity fixture: by cell, and by sweep. */
  readonly cells = new Map<string, readonly number[]>()
}

/** Key of a cell of the parity matrices. */
export function cellKey(role: string, temperature: number, promptTokens: number, mode: number): string {
  return `${role}/${temperature}/${promptTokens}/${mode}`
}

/** Key of a sweep. */
export function sweepKey(label: string, temperature: number): string {
  return `sweep ${label}/${temperature}`
}
