/** One event of a response, as it is streamed. */
export type ResponseEvent = Readonly<Record<string, unknown>> & {
  readonly type: string
  readonly sequence_number: number
}

/** What the server remembers of a response. */
export interface ResponseRecord {
  readonly id: string
  readonly isBackground: boolean
  /** About what it takes in memory, with the conversation that it goes on with. */
  readonly bytes: number
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

/** Responses that are kept, and their bytes. */
export const storedResponsesLimit = { count: 1000, bytes: 256 * 1024 * 1024 } as const

/** The last responses; the one that was made first is forgotten first. The last one is always kept. */
export class ResponseStore {
  readonly #limit: { readonly count: number; readonly bytes: number }
  readonly #records = new Map<string, ResponseRecord>()
  #bytes = 0

  /** `limit` is for tests. */
  constructor(limit: { readonly count: number; readonly bytes: number } = storedResponsesLimit) {
    this.#limit = limit
  }

  add(record: ResponseRecord): void {
    this.#forget(record.id)
    this.#records.set(record.id, record)
    this.#bytes += record.bytes
    for (const id of this.#records.keys()) {
      if (this.#records.size <= this.#limit.count && this.#bytes <= this.#limit.bytes) return
      if (id !== record.id) this.#forget(id)
    }
  }

  find(id: string): ResponseRecord | undefined {
    return this.#records.get(id)
  }

  #forget(id: string): void {
    this.#bytes -= this.#records.get(id)?.bytes ?? 0
    this.#records.delete(id)
  }

  /** Ends what runs in the background. */
  close(): void {
    for (const { task } of this.#records.values()) task.abort()
    this.#records.clear()
  }
}
