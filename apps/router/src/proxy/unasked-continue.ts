import type { Socket } from 'node:net'

const continued = Buffer.from('HTTP/1.1 100')
/** Letters of a status line that say that an answer is none yet. */
const informational = 'HTTP/1.1 1'.length
const endOfHead = Buffer.from('\r\n\r\n')
const digitTwo = 0x32

/** Where an answer stands of which something has come. */
export class HeadScan {
  #matched = 0
  #ended = 0

  /**
   * Reads on, and makes every `100` on the way to the answer a `102`, in place. False = the answer itself has begun. Looks at no more than
   * the first letters of it.
   */
  take(chunk: Buffer): boolean {
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!
      if (this.#matched === continued.length) {
        this.#ended = byte === endOfHead[this.#ended] ? this.#ended + 1 : byte === endOfHead[0] ? 1 : 0
        if (this.#ended < endOfHead.length) continue
        this.#ended = 0
        this.#matched = 0
      } else if (byte === continued[this.#matched]) {
        this.#matched++
        if (this.#matched === continued.length) chunk[at] = digitTwo
      } else if (this.#matched >= informational) this.#matched = continued.length
      else return false
    }
    return true
  }
}

/**
 * Lets a connection skip a `100 Continue` that nobody asked for: undici takes that for an error, and skips all other informational answers.
 * Once a connection, before it is used; requests must come one after another.
 */
export function skipContinues(socket: Socket): void {
  const { read, write } = socket
  let scan: HeadScan | undefined
  socket.write = ((...chunk: Parameters<Socket['write']>) => {
    scan ??= new HeadScan()
    return write.apply(socket, chunk)
  }) as Socket['write']
  socket.read = (size?: number) => {
    const chunk = read.call(socket, size) as Buffer | null
    if (scan !== undefined && chunk !== null && !scan.take(chunk)) scan = undefined
    return chunk
  }
}
