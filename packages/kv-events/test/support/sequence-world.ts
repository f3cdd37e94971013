import { type BatchMessage, SequenceMachine, TERMINATOR_SEQUENCE } from '../../src/protocol/index.js'
import { sequenceFrame } from './machine-log.js'

/** A batch of one life of an engine, as it is on its way. */
interface Sent {
  readonly life: number
  readonly sequence: number
  readonly isBad: boolean
}

/** What one machine did, and what must hold of it. */
export interface WorldOptions {
  readonly hasReplay: boolean
  /** Batches that the replay socket keeps. */
  readonly kept: number
  readonly maxBufferedBatches: number
}

const empty = new Uint8Array(0)

/**
 * An engine, the network to it, and a machine that follows it. Live messages arrive in order but may be lost; requests and answers
 * travel on their own and die with the process. Everything that was applied carries the life it comes from, so that the truth is known.
 */
export class SequenceWorld {
  readonly machine: SequenceMachine
  /** What the index holds: applied since it was last dropped. */
  held: Sent[] = []
  requests = 0
  restarts = 0
  nowMs = 0
  #life = 0
  #published: Sent[] = []
  readonly #options: WorldOptions
  #livePipe: Sent[] = []
  #replyPipe: { readonly id: number; readonly sent: Sent | 'end' }[] = []
  #request: { readonly id: number; readonly from: bigint } | undefined
  #isSubscribed = false
  #isSuspect = false
  /** Of the current incarnation as the machine sees it. */
  #lastApplied: number | undefined
  #lastLive: number | undefined
  #lifeOfMachine = 0
  /** Sequences that were handed out in this incarnation. */
  #seen = new Set<number>()

  constructor(options: WorldOptions) {
    this.#options = options
    this.machine = new SequenceMachine(
      {
        hasReplay: options.hasReplay,
        maxBufferedBatches: options.maxBufferedBatches,
        rebuildHorizonMs: 1e12,
      },
      {
        requestReplay: (id, from) => {
          if (this.#request !== undefined) throw new Error('two requests at once')
          this.requests++
          this.#request = { id, from }
        },
        endReplay: (id) => {
          if (this.#request?.id === id) this.#request = undefined
          this.#replyPipe = this.#replyPipe.filter((reply) => reply.id !== id)
        },
        dropRanks: () => void (this.held = []),
        restarted: () => {
          this.restarts++
          this.#newIncarnation()
        },
        provedSame: () => void (this.#isSuspect = false),
      },
    )
  }

  publish(count: number, isBad: boolean): void {
    for (let index = 0; index < count; index++) {
      const sent = { life: this.#life, sequence: this.#published.length, isBad: isBad && index === 0 }
      this.#published.push(sent)
      if (this.#isSubscribed) this.#livePipe.push(sent)
    }
  }

  /** @param isDamaged the first one arrives as no batch */
  deliver(count: number, isDamaged: boolean): void {
    for (const [index, sent] of this.#livePipe.splice(0, count).entries()) {
      // A sequence that goes on by chance passes for a proof; here something else tells in time.
      if (this.#isSuspect && this.#continues(sent)) this.proofExpires()
      this.#lastLive = sent.sequence
      this.machine.live(framesOf({ ...sent, isBad: sent.isBad || (isDamaged && index === 0) }), this.nowMs)
      this.#run()
    }
  }

  /** An answer is on its way that does not know what is published now. */
  get isAnswering(): boolean {
    return this.#replyPipe.length > 0
  }

  lose(count: number): void {
    this.#livePipe.splice(0, count)
  }

  /** The engine looks at a request. */
  answer(): void {
    const request = this.#request
    if (request === undefined || this.#replyPipe.some(({ id }) => id === request.id)) return
    const kept = this.#published.slice(-this.#options.kept).filter(({ sequence }) => sequence >= request.from)
    for (const sent of kept) this.#replyPipe.push({ id: request.id, sent })
    this.#replyPipe.push({ id: request.id, sent: 'end' })
  }

  deliverReplies(count: number): void {
    for (const { id, sent } of this.#replyPipe.splice(0, count)) {
      const frames = sent === 'end' ? [empty, sequenceFrame(TERMINATOR_SEQUENCE), empty] : framesOf(sent)
      this.machine.reply(id, frames, this.nowMs)
      this.#run()
    }
  }

  disconnect(): void {
    this.#isSubscribed = false
    this.#livePipe = []
    this.machine.connectionLost(this.nowMs)
    this.#run()
  }

  connect(): void {
    if (this.#isSubscribed) return
    this.machine.connected(this.nowMs)
    this.#run()
    this.#isSubscribed = true
  }

  /** The process dies, and another one takes connections; some of what it sends first is not heard. */
  restart(unheard: number): void {
    this.disconnect()
    this.machine.suspect()
    this.#isSuspect = true
    // What was asked and not answered may reach the next process.
    this.#replyPipe = []
    this.#life++
    this.#published = []
    this.publish(unheard, false)
    this.connect()
  }

  /** Nothing has proved in time that the process is the same. */
  proofExpires(): void {
    if (!this.#isSuspect) return
    this.#newIncarnation()
    this.machine.reset(this.nowMs)
    this.#run()
  }

  pass(ms: number): void {
    this.nowMs += ms
    this.machine.advance(this.nowMs)
    this.#run()
  }

  /** Everything arrives that can, until nothing moves. */
  settle(): void {
    this.proofExpires()
    this.connect()
    for (let round = 0; round < 50; round++) {
      this.publish(1, false)
      this.deliver(Infinity, false)
      this.answer()
      this.deliverReplies(Infinity)
    }
  }

  /** Whether all that the engine published is held, in order. */
  get holdsAll(): boolean {
    return (
      this.held.length === this.#published.length &&
      this.held.every((sent, index) => sent === this.#published[index])
    )
  }

  /** A claim to be complete holds: one life, from its first batch on, without a hole. */
  check(): void {
    if (this.machine.state !== 'live') return
    const [first] = this.held
    for (const [index, { life, sequence }] of this.held.entries()) {
      if (sequence !== index || life !== first!.life)
        throw new Error(`claims to be complete with ${JSON.stringify(this.held)}`)
    }
    const { cursor } = this.machine
    if (cursor !== undefined && cursor !== BigInt(this.held.length - 1)) throw new Error(`cursor ${cursor}`)
  }

  #continues({ life, sequence }: Sent): boolean {
    const { cursor } = this.machine
    return life !== this.#lifeOfMachine && [this.#lastLive, Number(cursor ?? -1n)].includes(sequence - 1)
  }

  #newIncarnation(): void {
    this.#lifeOfMachine = this.#life
    this.held = []
    this.#lastApplied = undefined
    this.#seen.clear()
    this.#isSuspect = false
  }

  #run(): void {
    for (
      let batch = this.machine.next(this.nowMs);
      batch !== undefined;
      batch = this.machine.next(this.nowMs)
    )
      this.#apply(batch)
    this.check()
  }

  #apply({ sequence, payload }: BatchMessage): void {
    const sent: Sent = { life: payload[0]!, sequence: Number(sequence), isBad: payload[1] === 1 }
    if (!sent.isBad) {
      if (this.#seen.has(sent.sequence)) throw new Error(`applied twice: ${sequence}`)
      if (this.#lastApplied !== undefined && sent.sequence <= this.#lastApplied)
        throw new Error(`applied ${sequence} after ${this.#lastApplied}`)
      this.#seen.add(sent.sequence)
      this.#lastApplied = sent.sequence
      this.held.push(
        this.#published[sent.sequence]?.life === sent.life ? this.#published[sent.sequence]! : sent,
      )
    }
    this.machine.settle({ isBatch: !sent.isBad, dpRank: 0, isCleared: false }, this.nowMs)
  }
}

function framesOf({ life, sequence, isBad }: Sent): Uint8Array[] {
  return [empty, sequenceFrame(sequence), Uint8Array.of(life, isBad ? 1 : 0)]
}
