import { type SequenceOptions, SequenceMachine, TERMINATOR_SEQUENCE } from '../../src/protocol/index.js'

const kinds = ['batch', 'bad', 'cleared'] as const

/** Payload of a batch of these tests: how it is to be read, and its sequence. */
export function payloadOf(sequence: number | bigint, kind: (typeof kinds)[number] = 'batch'): Uint8Array {
  return Uint8Array.of(kinds.indexOf(kind), ...sequenceFrame(sequence))
}

export function sequenceFrame(sequence: number | bigint): Uint8Array {
  const frame = new Uint8Array(8)
  new DataView(frame.buffer).setBigUint64(0, BigInt(sequence))
  return frame
}

export function liveFrames(sequence: number | bigint, payload = payloadOf(sequence)): Uint8Array[] {
  return [new Uint8Array(0), sequenceFrame(sequence), payload]
}

export const terminatorFrames = [new Uint8Array(0), sequenceFrame(TERMINATOR_SEQUENCE), new Uint8Array(0)]

/** A machine with a log of what it orders and of the batches it hands out, applied at once. */
export class MachineLog {
  readonly machine: SequenceMachine
  readonly log: string[] = []
  nowMs = 1000
  /** Id of the latest request. */
  requestId = 0

  constructor(options: Partial<SequenceOptions> = {}) {
    this.machine = new SequenceMachine(
      { hasReplay: false, ...options },
      {
        requestReplay: (id, from) => {
          this.requestId = id
          this.log.push(`request ${from}`)
        },
        endReplay: () => undefined,
        dropRanks: (ranks) => this.log.push(`drop ${ranks.join(' ')}`),
        restarted: () => this.log.push('restarted'),
        provedSame: () => this.log.push('same'),
      },
    )
  }

  connect(): this {
    this.machine.connected(this.nowMs)
    return this.run()
  }

  live(...sequences: (number | bigint)[]): this {
    for (const sequence of sequences) this.message(liveFrames(sequence))
    return this
  }

  bad(sequence: number): this {
    return this.message(liveFrames(sequence, payloadOf(sequence, 'bad')))
  }

  cleared(sequence: number): this {
    return this.message(liveFrames(sequence, payloadOf(sequence, 'cleared')))
  }

  message(frames: Uint8Array[]): this {
    this.machine.live(frames, this.nowMs)
    return this.run()
  }

  reply(...sequences: (number | bigint)[]): this {
    for (const sequence of sequences) this.machine.reply(this.requestId, liveFrames(sequence), this.nowMs)
    return this.run()
  }

  badReply(sequence: number): this {
    this.machine.reply(this.requestId, liveFrames(sequence, payloadOf(sequence, 'bad')), this.nowMs)
    return this.run()
  }

  terminator(): this {
    this.machine.reply(this.requestId, terminatorFrames, this.nowMs)
    return this.run()
  }

  later(ms: number): this {
    this.nowMs += ms
    this.machine.advance(this.nowMs)
    return this.run()
  }

  /** Takes the log so far. */
  take(): string[] {
    return this.log.splice(0)
  }

  /** Applies what waits. Every batch is of rank 0. */
  run(): this {
    for (;;) {
      const batch = this.machine.next(this.nowMs)
      if (batch === undefined) return this
      const kind = kinds[batch.payload[0]!]
      const { payload } = batch
      const sequence = new DataView(payload.buffer, payload.byteOffset).getBigUint64(1)
      if (kind !== 'bad') this.log.push(`${sequence}`)
      this.machine.settle({ isBatch: kind !== 'bad', dpRank: 0, isCleared: kind === 'cleared' }, this.nowMs)
    }
  }
}

/** A machine that goes on from a cursor. */
export function startedAt(
  cursor: number,
  options: Partial<SequenceOptions> = {},
  isComplete = true,
): MachineLog {
  return new MachineLog({ ...options, start: { cursor: BigInt(cursor), isComplete, dpRanks: [0] } })
}
