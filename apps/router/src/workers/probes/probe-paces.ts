/** How often workers are looked at; milliseconds. */
export interface PaceSettings {
  /** Between probes of a healthy worker. Default 5,000. */
  readonly probeMs?: number | undefined
  /** Between probes of one that is down, avoided or not learned yet. Default 1,000. */
  readonly suspectProbeMs?: number | undefined
  /** Age from which what was learned of a healthy engine is read again. Default 15,000. */
  readonly learnAgainMs?: number | undefined
}

/** Of every worker, on an average, so that many of them do not keep the router busy: 500 probes a second. */
const probeCostMs = 2
/** The same for what is learned: two answers or three, of which one is long. */
const lessonCostMs = 6

/** When workers are probed: as the settings say, and less often where there are very many. Bounded by the workers. */
export class ProbePaces<T> {
  readonly #settings: Required<Record<keyof PaceSettings, number>>
  readonly #well = new Set<T>()
  readonly #suspect = new Set<T>()

  constructor({ probeMs = 5000, suspectProbeMs = 1000, learnAgainMs = 15_000 }: PaceSettings) {
    this.#settings = { probeMs, suspectProbeMs, learnAgainMs }
  }

  get learnAgainMs(): number {
    return Math.max(this.#settings.learnAgainMs, this.#well.size * lessonCostMs)
  }

  /** Milliseconds to the next probe of a worker that is so now. */
  probeMs(worker: T, isSuspect: boolean): number {
    const { probeMs, suspectProbeMs } = this.#settings
    const [own, others] = isSuspect ? [this.#suspect, this.#well] : [this.#well, this.#suspect]
    others.delete(worker)
    own.add(worker)
    return Math.max(isSuspect ? suspectProbeMs : probeMs, own.size * probeCostMs)
  }

  delete(worker: T): void {
    this.#well.delete(worker)
    this.#suspect.delete(worker)
  }
}
