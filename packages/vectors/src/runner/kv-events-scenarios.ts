import {
  type BatchContext,
  BatchReader,
  type EventSink,
  SequenceMachine,
  SourceMemory,
} from '@router/kv-events'
import { listLimit } from '../shapes/common.js'
import type { KvEventsScenario } from '../shapes/kv-events-scenarios.js'
import type { Checks } from './checks.js'
import { ShapeError } from './family.js'

type Sequence = number | bigint | string

/** A payload that a scenario may name. */
interface NamedPayload {
  readonly id: string
  readonly payload_hex: string
}

const DROP = 'drop rank state'
const EMPTY_BATCH = '92cb41d954fc4020000090'
const TERMINATOR = (1n << 64n) - 1n
const reader = new BatchReader()

/** Plays the steps against one event socket, and compares what was applied and asked for, and how it ended. */
export function evaluateScenario(
  scenario: KvEventsScenario,
  checks: Checks,
  payloads: readonly NamedPayload[],
): void {
  const socket = new PlayedSocket(scenario, payloads)
  for (const step of scenario.steps) socket.play(step)
  checks.list('applied', expectedLog(scenario.applied), socket.log)
  checks.list('requests', scenario.requests.map(BigInt), socket.requests)
  checks.equal('state', scenario.state, socket.machine.state)
  checks.equal('complete', scenario.complete, socket.machine.state === 'live')
  checks.equal('incarnation', scenario.incarnation, socket.machine.counters.restarts)
}

function expectedLog(applied: KvEventsScenario['applied']): string[] {
  if (typeof applied !== 'string') return applied.map(String)
  return applied.split(', ').flatMap((part) => {
    if (part === DROP) return [DROP]
    const [first, last] = part.replace('then ', '').split('..').map(BigInt)
    return range(first!, last ?? first!).map(String)
  })
}

function range(first: bigint, last: bigint): bigint[] {
  const length = last - first + 1n
  if (length < 1n || length > BigInt(listLimit))
    throw new ShapeError([`range ${first}..${last}: expected 1 to ${listLimit} sequences`])
  return Array.from({ length: Number(length) }, (_, index) => first + BigInt(index))
}

/** A socket of rank 0 and the engine behind it, on a clock that only the steps move. */
class PlayedSocket {
  readonly machine: SequenceMachine
  /** Applied sequences, and `DROP` where the state of the rank goes. */
  readonly log: string[] = []
  readonly requests: bigint[] = []
  readonly #scenario: KvEventsScenario
  readonly #payloads: readonly NamedPayload[]
  readonly #memory = new SourceMemory()
  /** Requests that the engine answers by itself. */
  readonly #unanswered: { readonly id: number; readonly from: bigint }[] = []
  #requestId = 0
  #nowMs = 0
  /** Something was applied since the state was last dropped. */
  #hasState: boolean

  constructor(scenario: KvEventsScenario, payloads: readonly NamedPayload[]) {
    this.#scenario = scenario
    this.#payloads = payloads
    const { preset, replay } = scenario
    this.#hasState = preset !== undefined
    const [state, , , cursor] = preset?.split(' ') ?? []
    this.machine = new SequenceMachine(
      {
        hasReplay: replay !== null,
        start:
          cursor === undefined
            ? undefined
            : { cursor: BigInt(cursor), isComplete: state === 'live', dpRanks: [0] },
      },
      {
        requestReplay: (id, from) => {
          this.requests.push(from)
          this.#requestId = id
          this.#unanswered.push({ id, from })
        },
        endReplay: () => undefined,
        dropRanks: () => this.#drop(),
        restarted: () => {
          this.#memory.forgetAll()
          this.#drop()
        },
        provedSame: () => undefined,
      },
    )
  }

  play(step: KvEventsScenario['steps'][number]): void {
    if ('connect' in step) this.machine.connected(this.#nowMs)
    else if ('live' in step) this.machine.live(this.#frames(step.live, step.payload), this.#nowMs)
    else if ('replay_reply' in step) this.#answer(this.#requestId, step.replay_reply)
    else this.#passTime(this.#nowMs + step.advance_ms)
    this.#run()
  }

  #passTime(untilMs: number): void {
    for (let dueMs = this.machine.nextDeadlineMs(); dueMs <= untilMs; dueMs = this.machine.nextDeadlineMs()) {
      this.#nowMs = Math.max(dueMs, this.#nowMs)
      this.machine.advance(this.#nowMs)
      this.#run()
    }
    this.#nowMs = untilMs
  }

  /** Lets the engine answer and applies what there is, until nothing is left. */
  #run(): void {
    this.#applyAll()
    for (let request = this.#unanswered.shift(); request !== undefined; request = this.#unanswered.shift()) {
      const retained = this.#retained()
      if (retained === undefined) continue
      this.#answer(
        request.id,
        retained.filter((sequence) => sequence >= request.from),
      )
      this.#applyAll()
    }
  }

  /** What the engine answers by itself; absent = it does not. */
  #retained(): bigint[] | undefined {
    const { replay, steps } = this.#scenario
    if (replay === null || replay === 'silent' || steps.some((step) => 'replay_reply' in step))
      return undefined
    return range(BigInt(replay.first), BigInt(replay.tip))
  }

  #answer(requestId: number, sequences: readonly Sequence[]): void {
    for (const sequence of sequences) this.machine.reply(requestId, this.#frames(sequence), this.#nowMs)
    const end = [new Uint8Array(0), sequenceFrame(TERMINATOR), new Uint8Array(0)]
    this.machine.reply(requestId, end, this.#nowMs)
  }

  #applyAll(): void {
    for (
      let batch = this.machine.next(this.#nowMs);
      batch !== undefined;
      batch = this.machine.next(this.#nowMs)
    ) {
      const outcome = { isBatch: false, isCleared: false }
      outcome.isBatch = reader.read(batch.payload, this.#context(), sinkThatNotes(outcome)).isBatch
      if (outcome.isBatch) {
        this.log.push(String(batch.sequence))
        this.#hasState = true
      }
      this.machine.settle({ ...outcome, dpRank: 0 }, this.#nowMs)
    }
  }

  #context(): BatchContext {
    return { blockSize: 4, socketRank: 0, memory: this.#memory, holds: () => false }
  }

  #drop(): void {
    if (this.#hasState) this.log.push(DROP)
    this.#hasState = false
  }

  #frames(sequence: Sequence, payloadId?: string): Uint8Array[] {
    const named = this.#payloads.find(({ id }) => id === payloadId)
    if (payloadId !== undefined && named === undefined)
      throw new ShapeError([`steps: no payload '${payloadId}' in the document`])
    const payload = Uint8Array.from(Buffer.from(named?.payload_hex ?? EMPTY_BATCH, 'hex'))
    return [new Uint8Array(0), sequenceFrame(BigInt(sequence)), payload]
  }
}

function sinkThatNotes(outcome: { isCleared: boolean }): EventSink {
  return {
    stored: () => undefined,
    removed: () => undefined,
    cleared: () => void (outcome.isCleared = true),
    dropped: () => undefined,
  }
}

function sequenceFrame(sequence: bigint): Uint8Array {
  const frame = new Uint8Array(8)
  new DataView(frame.buffer).setBigUint64(0, sequence)
  return frame
}
