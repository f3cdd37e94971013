const MAX_BUFFERED_EVENTS = 100_000

/** What a `RelayedRank` orders. */
export interface RelayOutput<E> {
  apply(event: E): void
  /** What the index holds of the rank must go. */
  dropRank(): void
  /** Ask the source for everything that the rank holds. */
  requestSnapshot(): void
  /** Put the events of a snapshot, which start from nothing, in the place of what the index holds, in one turn. */
  replace(events: readonly E[]): void
}

/** What a rank holds, as events that rebuild it. */
export interface RelaySnapshot<E> {
  /** Events with made-up ids, in order. */
  readonly events: readonly E[]
  /** Id of the last real event that it contains; absent = none was ever sent. */
  readonly lastEventId: bigint | undefined
}

/**
 * Follows one rank whose normalised events come with ids, from a peer, an embedding program or an engine in this process (host.md 2.11).
 * Pure. Keeps at most 100,000 events while a snapshot is on its way; when more come they are dropped, and the gap that this makes asks
 * for another snapshot.
 */
export class RelayedRank<E extends { readonly eventId: bigint }> {
  readonly #output: RelayOutput<E>
  readonly #buffer: E[] = []
  #cursor: bigint | undefined
  #isWaiting = false

  constructor(output: RelayOutput<E>) {
    this.#output = output
  }

  /** Id of the last applied event; absent = none. */
  get cursor(): bigint | undefined {
    return this.#cursor
  }

  /** A snapshot was asked for and has not come. */
  get isWaiting(): boolean {
    return this.#isWaiting
  }

  event(event: E): void {
    if (!this.#isWaiting) this.#take(event)
    else if (this.#buffer.length < MAX_BUFFERED_EVENTS) this.#buffer.push(event)
  }

  /** The answer to `requestSnapshot`; one that nobody asked for is ignored. */
  snapshot({ events, lastEventId }: RelaySnapshot<E>): void {
    if (!this.#isWaiting) return
    this.#isWaiting = false
    this.#output.replace(events)
    this.#cursor = lastEventId
    const waiting = this.#buffer.splice(0)
    for (const event of waiting) this.event(event)
  }

  /** The source could not answer: it is asked again, at a time that the caller chooses. */
  retrySnapshot(): void {
    if (this.#isWaiting) this.#output.requestSnapshot()
  }

  /** A new incarnation: ids start at 0 again, and nothing is held. */
  reset(): void {
    this.#buffer.length = 0
    this.#cursor = undefined
    this.#isWaiting = false
  }

  #take(event: E): void {
    const wanted = this.#cursor === undefined ? 0n : this.#cursor + 1n
    if (event.eventId < wanted) return
    if (event.eventId === wanted) {
      this.#cursor = wanted
      this.#output.apply(event)
      return
    }
    this.#isWaiting = true
    this.#buffer.push(event)
    this.#output.dropRank()
    this.#output.requestSnapshot()
  }
}
