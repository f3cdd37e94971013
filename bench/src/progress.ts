/** Where a line of progress may go. */
export interface ProgressStream {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const clearLine = '\r\u001B[K'

/** One line that is overwritten, on a terminal only. */
export class Progress {
  readonly #stream: ProgressStream

  constructor(stream: ProgressStream) {
    this.#stream = stream
  }

  show(text: string): void {
    if (this.#stream.isTTY !== true) return
    this.#stream.write(clearLine + text.slice(0, (this.#stream.columns ?? 80) - 1))
  }

  clear(): void {
    if (this.#stream.isTTY === true) this.#stream.write(clearLine)
  }
}
