/** One event of a response, as it is streamed. */
export type ResponseEvent = Readonly<Record<string, unknown>> & {
  readonly type: string
  readonly sequence_number: number
}

/** What the server remembers of a response. */
export interface ResponseRecord {
  readonly id: string
  readonly isBackground: boolean
  /** Messages of the conversation up to this response, without instructions. */
  readonly conversation: readonly Readonly<Record<string, unknown>>[]
  /** As `GET /v1/responses/{id}` shows it. */
  response: Readonly<Record<string, unknown>> & { readonly status: string }
  /** What it added to the conversation. */
  answer: readonly Readonly<Record<string, unknown>>[]
  /** Ends the generation. */
  readonly task: AbortController
  /** In the background only: everything that was streamed, for those who come later. */
  readonly events: ResponseEvent[]
  readonly listeners: Set<(event: ResponseEvent | undefined) => void>
}

/** Responses that are kept. */
export const storedResponsesLimit = 1000

/** The last responses; the one that was made first is forgotten first. */
export class ResponseStore {
  readonly #limit: number
  readonly #records = new Map<string, ResponseRecord>()

  /** `limit` is for tests. */
  constructor(limit = storedResponsesLimit) {
    this.#limit = limit
  }

  add(record: ResponseRecord): void {
    this.#records.delete(record.id)
    this.#records.set(record.id, record)
    for (const id of this.#records.keys()) {
      if (this.#records.size <= this.#limit) return
      this.#records.delete(id)
    }
  }

  find(id: string): ResponseRecord | undefined {
    return this.#records.get(id)
  }

  /** Ends what runs in the background. */
  close(): void {
    for (const { task } of this.#records.values()) task.abort()
    this.#records.clear()
  }
}
