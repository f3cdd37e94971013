/** Where a line of progress may go. */
export interface ProgressStream {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const clearLine = '\r\u001B[K'

/** One line that is overwritten on a terminal; elsewhere a line for each place, the text before the first colon. */
export class Progress {
  readonly #stream: ProgressStream
  #place = ''

  constructor(stream: ProgressStream) {
    this.#stream = stream
  }

  show(text: string): void {
    if (this.#stream.isTTY !== true) {
      const [place = ''] = text.split(':')
      if (place !== this.#place) this.#stream.write(`${place}\n`)
      this.#place = place
      return
    }
    this.#stream.write(clearLine + text.slice(0, (this.#stream.columns ?? 80) - 1))
  }

  clear(): void {
    if (this.#stream.isTTY === true) this.#stream.write(clearLine)
  }
}
