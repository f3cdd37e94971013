import {
  type EngineParameters,
  type EngineRequest,
  type PassSink,
  type TimingTable,
  VllmEngine,
} from '../../src/index.js'

/** A request and when it arrives, in ms. */
export interface TimedRequest extends EngineRequest {
  readonly atMs: number
}

/** A pass as people read it: when it ends, and what it told, in order. */
export interface Told {
  readonly endMs: number
  readonly events: readonly string[]
}

/** Writes down what it is told; requests by the letter of their arrival. */
export class Recorder implements PassSink {
  readonly letters = new Map<number, string>()
  events: string[] = []
  admitted = (request: number, hit: number, again: boolean): void =>
    void this.events.push(`${again ? 'readmitted' : 'admitted'} ${this.#name(request)} ${hit}`)
  preempted = (request: number): void => void this.events.push(`preempted ${this.#name(request)}`)
  stored = (block: number, request: number, index: number): void =>
    void this.events.push(`stored ${block} ${this.#name(request)}${index}`)
  removed = (block: number): void => void this.events.push(`removed ${block}`)
  token = (request: number, ordinal: number): void =>
    void this.events.push(`token ${this.#name(request)}${ordinal}`)
  ended = (request: number, reason: string): void =>
    void this.events.push(`ended ${this.#name(request)} ${reason}`)
  #name(request: number): string {
    return this.letters.get(request) ?? String(request)
  }
}

/** What happens while a pass runs, and after it. */
export interface Hooks {
  readonly inPass?: (engine: VllmEngine, numberOf: (letter: string) => number) => void
  readonly atPassEnd?: (engine: VllmEngine, events: readonly string[]) => void
}

/** Plays requests, sorted by arrival, on one engine. Throws when it does not come to an end. */
export function play(
  parameters: EngineParameters,
  requests: readonly TimedRequest[],
  { inPass, atPassEnd }: Hooks = {},
): Told[] {
  const engine = new VllmEngine(parameters)
  const recorder = new Recorder()
  const told: Told[] = []
  let next = 0
  let nowMs = 0
  for (let passes = 0; passes < 20_000; passes++) {
    for (; next < requests.length && requests[next]!.atMs <= nowMs; next++)
      recorder.letters.set(engine.submit(requests[next]!), String.fromCharCode(65 + next))
    const pass = engine.startPass(nowMs)
    if (pass === undefined) {
      if (next === requests.length) return told
      nowMs = requests[next]!.atMs
      continue
    }
    nowMs = pass.endMs
    inPass?.(engine, (letter) => [...recorder.letters].findLast(([, name]) => name === letter)![0])
    engine.finishPass(recorder)
    told.push({ endMs: nowMs, events: recorder.events })
    atPassEnd?.(engine, recorder.events)
    recorder.events = []
  }
  throw new Error('the engine does not come to an end')
}

/** A small table of times. */
export const timingTable: TimingTable = {
  type: 'table',
  prefill_isl: [100, 300],
  prefill_ttft_ms: [20, 30],
  decode_active_kv_tokens: [0, 1000],
  decode_context_length: [0, 100],
  decode_itl: [
    [5, 6],
    [10, 19],
  ],
}

/** Names of blocks: small numbers, as two words each. */
export function keys(...names: readonly number[]): Uint32Array {
  return Uint32Array.from(names.flatMap((name) => [name, 0]))
}

/** Names of a prompt of tokens, block by block: a name stands for the tokens and all before them. */
export function keysOf(tokens: readonly number[], blockSize: number): Uint32Array {
  const words: number[] = []
  let low = 0x811c9dc5
  let high = 0x01000193
  for (const [index, token] of tokens.entries()) {
    low = Math.imul(low ^ token, 0x01000193) >>> 0
    high = (Math.imul(high ^ low, 0x85ebca6b) + token) >>> 0
    if ((index + 1) % blockSize === 0) words.push(low, high)
  }
  return Uint32Array.from(words)
}
