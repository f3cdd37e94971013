/** Stories that are kept; all violations are counted. */
const keptStories = 20

/** What a run is judged by. */
export const checkNames = {
  refused: 'nothing relayed: no error',
  broken: 'a broken stream: one error event, no [DONE], and a reason',
  dead: 'no attempt at a dead worker after 5 s',
  known: 'no attempt at a worker once it refused one',
  returned: 'a worker that is back serves within 2 s',
  empty: 'nothing is known of a new process',
  books: 'books clean, and empty at the end',
  engines: 'engines work for nobody at the end',
  heap: 'heap at the end <= 1.1 x that after the first part',
} as const

export type CheckName = keyof typeof checkNames

/** How often a law was looked at, and broken. */
export interface CheckCount {
  checked: number
  violations: number
}

/** Counts what was checked, and keeps the stories of what was wrong. */
export class Checks {
  readonly counts: Readonly<Record<CheckName, CheckCount>>
  readonly stories: string[] = []

  constructor() {
    const none = Object.keys(checkNames).map((name) => [name, { checked: 0, violations: 0 }])
    this.counts = Object.fromEntries(none) as Record<CheckName, CheckCount>
  }

  /** @param story what happened, where it does not hold */
  look(name: CheckName, holds: boolean, story: () => string): void {
    const count = this.counts[name]
    count.checked++
    if (holds) return
    count.violations++
    if (this.stories.length < keptStories) this.stories.push(`${checkNames[name]}\n${story()}`)
  }

  get violations(): number {
    return Object.values(this.counts).reduce((sum, { violations }) => sum + violations, 0)
  }
}
