import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { Tokenizer } from '@huggingface/tokenizers'
import { BlockHasher, BlockHashes } from '@router/kv-index'
import { PromptTokenizer } from '@router/prompt'
import type { ComputedFigure, FigureRow } from '../harness/figure.js'
import { qwen3Folder } from './qwen3.js'

const group = 'a body to token ids, in one thread'
// Some 1,320 and 1,600 tokens of Qwen3.
const longWords = 1070
const longerWords = 1300
const turnWords = 60

/** What tokenization costs within a thread; rows of the `prompt` bench. */
export const promptTokenizerRows: readonly FigureRow[] = [
  {
    group,
    name: '100 k tokens, one new turn: less CPU than the whole prompt',
    unit: 'x',
    reach: { atLeast: 50 },
    compute: resumedAgainstWhole,
  },
  {
    group,
    name: 'cold 8 k tokens: CPU, against that of the tokenizer itself',
    unit: 'x',
    reach: { atMost: 1.15 },
    compute: coldAgainstLibrary,
  },
  {
    group,
    name: '8 k tokens, one new turn',
    unit: 'ms',
    reach: { atMost: 1 },
    compute: resumedShort,
  },
  {
    group,
    name: '100 k tokens, one new turn: share of the time that hashing all blocks anew would add',
    unit: '%',
    compute: shareOfHashing,
  },
]

interface Message {
  readonly role: string
  readonly content: string
}

const words =
  'a the of request worker block prefix cache and sends its tokens where most are held but not always router fleet engine 1024 because'.split(
    ' ',
  )

/** Conversations that no other equals, made of words by chance. */
class Writer {
  #state = 1

  message(turn: number, count: number): Message {
    const parts = Array.from({ length: count }, (_, index) => {
      this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0
      return words[(this.#state >>> 8) % words.length]! + (index % 17 === 16 ? '.\n' : ' ')
    })
    return { role: turn % 2 === 0 ? 'user' : 'assistant', content: parts.join('') }
  }

  conversation(messages: number, count: number): Message[] {
    return Array.from({ length: messages }, (_, turn) => this.message(turn, count))
  }
}

function bodyOf(messages: readonly Message[]): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ model: 'bench', messages }))
}

/** CPU of this process that a call takes, its garbage collection included, ms. */
function cpuMs(call: () => void): number {
  const before = process.cpuUsage()
  call()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[values.length >> 1]!
}

/** A conversation that grows by an answer and a question with each body. */
function growing(writer: Writer, messages: number, count: number): () => Uint8Array {
  const said = writer.conversation(messages, count)
  return () => {
    const body = bodyOf(said)
    said.push(writer.message(1, turnWords), writer.message(0, turnWords))
    return body
  }
}

function resumedAgainstWhole(): ComputedFigure {
  const [cached, uncached] = [
    PromptTokenizer.load(qwen3Folder),
    PromptTokenizer.load(qwen3Folder, { cacheBytes: 0 }),
  ]
  const next = growing(new Writer(), 61, longWords)
  for (let turn = 0; turn < 40; turn++) cached.read('chat', next())
  for (let turn = 0; turn < 3; turn++) uncached.read('chat', next())
  const [resumed, whole]: [number[], number[]] = [[], []]
  let tokens = 0
  for (let round = 0; round < 9; round++) {
    const bodies = Array.from({ length: 10 }, next)
    resumed.push(cpuMs(() => bodies.forEach((body) => cached.read('chat', body))) / bodies.length)
    whole.push(cpuMs(() => (tokens = uncached.read('chat', bodies.at(-1)!).tokens.length)))
  }
  const note = `${median(resumed).toFixed(2)} ms for ${tokens} tokens with one new turn, ${median(whole).toFixed(0)} ms for the whole`
  return { value: median(whole) / median(resumed), note }
}

function coldAgainstLibrary(): ComputedFigure {
  const library = libraryTokenizer()
  const tokenizer = PromptTokenizer.load(qwen3Folder)
  const writer = new Writer()
  const [ours, itsOwn]: [number[], number[]] = [[], []]
  let tokens = 0
  for (let round = 0; round < 60; round++) {
    const messages = writer.conversation(5, longerWords)
    const body = bodyOf(messages)
    const rendered = `${messages.map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`).join('')}<|im_start|>assistant\n`
    const found: { ids: ArrayLike<number>; expected: ArrayLike<number> } = { ids: [], expected: [] }
    const oursMs = cpuMs(() => (found.ids = tokenizer.read('chat', body).tokens))
    const itsOwnMs = cpuMs(
      () => (found.expected = library.encode(rendered, { add_special_tokens: false }).ids),
    )
    if (String(found.ids) !== String(found.expected)) throw new Error('the ids differ')
    tokens = found.ids.length
    if (round < 10) continue
    ours.push(oursMs)
    itsOwn.push(itsOwnMs)
  }
  const note = `${median(ours).toFixed(1)} ms for ${tokens} tokens, ${median(itsOwn).toFixed(1)} ms for the rendered text alone`
  return { value: median(ours) / median(itsOwn), note }
}

/** The library under the package, by itself. */
function libraryTokenizer(): Tokenizer {
  const [tokenizer, config] = ['tokenizer.json', 'tokenizer_config.json'].map(
    (name) => JSON.parse(readFileSync(join(qwen3Folder, name), 'utf8')) as object,
  ) as [object, object]
  return new Tokenizer(tokenizer, config)
}

function resumedShort(): ComputedFigure {
  const tokenizer = PromptTokenizer.load(qwen3Folder)
  const writer = new Writer()
  for (let round = 0; round < 20; round++) tokenizer.read('chat', bodyOf(writer.conversation(5, longerWords)))
  const times: number[] = []
  let tokens = 0
  for (let round = 0; round < 40; round++) {
    const next = growing(writer, 5, longerWords)
    tokenizer.read('chat', next())
    const body = next()
    const start = performance.now()
    tokens = tokenizer.read('chat', body).tokens.length
    times.push(performance.now() - start)
  }
  return {
    value: median(times),
    note: `${tokens} tokens, two new messages of ${turnWords} words; median of 40`,
  }
}

function shareOfHashing(): ComputedFigure {
  const tokenizer = PromptTokenizer.load(qwen3Folder)
  const [hasher, hashes] = [new BlockHasher(), new BlockHashes()]
  const next = growing(new Writer(), 61, longWords)
  const [reads, hashing]: [number[], number[]] = [[], []]
  for (let turn = 0; turn < 80; turn++) {
    const body = next()
    const start = performance.now()
    const { tokens } = tokenizer.read('chat', body)
    const middle = performance.now()
    hasher.hash(tokens, { blockSize: 16 }, hashes)
    const end = performance.now()
    if (turn < 40) continue
    reads.push(middle - start)
    hashing.push(end - middle)
  }
  const [readMs, hashMs] = [median(reads), median(hashing)]
  return {
    value: (100 * hashMs) / readMs,
    note: `${(1000 * hashMs).toFixed(0)} us beside ${readMs.toFixed(2)} ms`,
  }
}
