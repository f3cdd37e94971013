import { setImmediate as nextTurn } from 'node:timers/promises'
import { Router } from 'zeromq'
import { bindSocket, closeSocket, sendOrLose } from './bind-socket.js'
import { type EventLog, sequenceFrame } from './event-log.js'

const terminator = sequenceFrame(2n ** 64n - 1n)
const empty = Buffer.alloc(0)
const repliesPerTurn = 64

/** The replay socket of one rank: who asks from a sequence number on gets every batch since that is kept, and a terminator. */
export class ReplaySocket {
  readonly #log: EventLog
  readonly #socket = new Router({ linger: 0, sendHighWaterMark: 100_000 })
  #endpoint = ''
  #answering: Promise<void> = Promise.resolve()

  constructor(log: EventLog) {
    this.#log = log
  }

  /** Where it is bound, with its real port. */
  get endpoint(): string {
    return this.#endpoint
  }

  /** Binds and answers from now on. Throws `MOCK_ENGINE_ENDPOINT_INVALID`. */
  async open(endpoint: string): Promise<void> {
    this.#endpoint = await bindSocket(this.#socket, endpoint)
    this.#answering = this.#answer()
  }

  async close(): Promise<void> {
    closeSocket(this.#socket, this.#endpoint)
    await this.#answering
  }

  async #answer(): Promise<void> {
    for await (const [identity, , wanted, ...rest] of this.#socket) {
      // Whatever else is no request.
      if (wanted?.length !== 8 || rest.length > 0) continue
      const end = this.#log.next
      // Beyond what a number holds exactly there is no batch.
      const first = Math.max(Number(wanted.readBigUInt64BE()), this.#log.first)
      for (let sequence = first; sequence < end && !this.#socket.closed; sequence++) {
        const payload = this.#log.get(sequence)
        if (payload !== undefined)
          await sendOrLose(this.#socket, [identity!, empty, sequenceFrame(BigInt(sequence)), payload])
        if ((sequence - first) % repliesPerTurn === repliesPerTurn - 1) await nextTurn()
      }
      await sendOrLose(this.#socket, [identity!, empty, terminator, empty])
    }
  }
}
