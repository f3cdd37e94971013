/** Which worker holds a response that an engine keeps, by its id: the last ones, oldest forgotten first. */
export class ResponseOwners {
  readonly #capacity: number
  readonly #workers = new Map<string, bigint>()

  /** @param capacity ids that are kept */
  constructor(capacity = 65_536) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#workers.size
  }

  /** `undefined` = unknown, or forgotten. */
  get(responseId: string): bigint | undefined {
    return this.#workers.get(responseId)
  }

  set(responseId: string, workerId: bigint): void {
    this.#workers.delete(responseId)
    this.#workers.set(responseId, workerId)
    if (this.#workers.size > this.#capacity) this.#workers.delete(this.#workers.keys().next().value!)
  }
}
