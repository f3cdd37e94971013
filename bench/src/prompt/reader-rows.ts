import process from 'node:process'
import { type PromptReader, type PromptReading, type ThreadOptions, createPromptReader } from '@router/prompt'
import type { ComputedFigure, FigureRow } from '../harness/figure.js'
import { qwen3Folder } from './qwen3.js'

const endToEnd = 'from bytes to tokens and block hashes, through a thread'

/** What the reader costs, its threads included; rows of the `prompt` bench. */
export const promptReaderRows: readonly FigureRow[] = [
  {
    group: endToEnd,
    name: '100 k tokens, one new turn: event loop',
    unit: 'ms',
    reach: { atMost: 3 },
    compute: () => withReader({}, loopOfResumed),
  },
  {
    group: endToEnd,
    name: '100 k tokens, one new turn: CPU of all threads, less than the whole prompt',
    unit: 'x',
    reach: { atLeast: 50 },
    whyNot:
      'some 1.2 ms beside the 4 ms in the tokenizer: reading the body, a copy of it, the way to the thread and back; 44 to 56 over runs',
    compute: () =>
      withReader({}, (resumed) => withReader({ cacheBytes: 0 }, (whole) => cpuRatio(resumed, whole))),
  },
  {
    group: endToEnd,
    name: '8 k tokens, one new turn: until the reading is there',
    unit: 'ms',
    compute: () => withReader({}, latencyOfResumed),
  },
  {
    group: endToEnd,
    name: '20 MB with an image: longest stall of the event loop',
    unit: 'ms',
    reach: { atMost: 20 },
    whyNot: 'a busy machine stalls the loop as well; the shortest of the reads is the one that it left alone',
    compute: () => withReader({}, stallOfImage),
  },
]

async function withReader(
  options: ThreadOptions,
  measure: (reader: PromptReader) => Promise<ComputedFigure>,
): Promise<ComputedFigure> {
  const reader = createPromptReader({
    threads: 1,
    budgetMs: 60_000,
    killAfterMs: 60_000,
    ...options,
  })
  try {
    await reader.load(qwen3Folder)
    return await measure(reader)
  } finally {
    await reader.close()
  }
}

interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: string
}

// Some 1,650 tokens of Qwen3 with the seams of the template.
const turnWords = 1200
const common = (
  'the of and to in is that for it as with on be at by this have from or an they which one all would there their what so up out if about ' +
  'who get when make can like time no just him know take people into year your good some could them see other than then now look only ' +
  'come over think also back after use two how our work first well way even new want because any these give day most system request ' +
  'engine cache prefix block token worker queue latency memory kernel thread stream model batch schedule compute measure balance ' +
  'function variable parameter configuration implementation throughput benchmark document message conversation assistant'
).split(' ')

/** A message that no other equals: common words by chance, with numbers, line breaks and quotes. */
function messageOf(turn: number, words = turnWords): Message {
  let state = turn + 1
  const parts = Array.from({ length: words }, (_, index) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    const word = common[(state >>> 8) % common.length]!
    const end = index % 17 === 16 ? '.\n' : index % 7 === 6 ? ', ' : ' '
    return index % 29 === 28 ? `"${word} ${state >>> 20}"${end}` : `${word}${end}`
  })
  return { role: turn % 2 === 0 ? 'user' : 'assistant', content: parts.join('') }
}

/** A conversation that goes on by two messages with each body; the first has so many. */
function conversationOf(messages: number, words?: number): () => Uint8Array {
  const said = Array.from({ length: messages }, (_, turn) => messageOf(turn, words))
  return () => {
    const body = new TextEncoder().encode(JSON.stringify({ model: 'bench', messages: said }))
    said.push(messageOf(said.length, 12), messageOf(said.length + 1, 12))
    return body
  }
}

async function read(reader: PromptReader, body: Uint8Array): Promise<PromptReading> {
  const reading = await reader.read({ endpoint: 'chat', body, tokenizer: qwen3Folder, blockSize: 16 })
  if (reading.exactness !== 'exact') throw new Error(`expected an exact reading, got ${reading.cause}`)
  return reading
}

/** Reads that warm up, then those that count; the median of what `measure` says of each. */
async function medianOfTurns(
  reader: PromptReader,
  next: () => Uint8Array,
  measure: (body: Uint8Array) => Promise<number>,
): Promise<{ readonly value: number; readonly last: PromptReading }> {
  for (let turn = 0; turn < 10; turn++) await read(reader, next())
  const values: number[] = []
  for (let turn = 0; turn < 31; turn++) {
    const body = next()
    // What came before has its own time.
    await new Promise((resolve) => setTimeout(resolve, 5))
    values.push(await measure(body))
  }
  const last = await read(reader, next())
  if (last.reusedTokens < 0.9 * last.promptTokens)
    throw new Error(`only ${last.reusedTokens} of ${last.promptTokens} tokens were reused`)
  return { value: values.toSorted((left, right) => left - right)[15]!, last }
}

async function loopOfResumed(reader: PromptReader): Promise<ComputedFigure> {
  const { value, last } = await medianOfTurns(reader, conversationOf(61), async (body) => {
    const before = performance.eventLoopUtilization()
    await read(reader, body)
    // Until the loop has been idle, what is active is not summed up.
    await new Promise((resolve) => setTimeout(resolve, 2))
    return performance.eventLoopUtilization(before).active
  })
  return { value, note: `time that the loop was active, of ${last.promptTokens} tokens; median of 31 turns` }
}

async function latencyOfResumed(reader: PromptReader): Promise<ComputedFigure> {
  const { value, last } = await medianOfTurns(reader, conversationOf(5, 1000), async (body) => {
    const start = performance.now()
    await read(reader, body)
    return performance.now() - start
  })
  return { value, note: `${last.promptTokens} tokens; median of 31 turns` }
}

async function cpuRatio(resumed: PromptReader, whole: PromptReader): Promise<ComputedFigure> {
  const cpuMs = async (reader: PromptReader, bodies: readonly Uint8Array[]): Promise<number> => {
    const before = process.cpuUsage()
    for (const body of bodies) await read(reader, body)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000 / bodies.length
  }
  const next = conversationOf(61)
  // The thread's code is compiled anew well into the first hundred turns.
  for (let turn = 0; turn < 100; turn++) await read(resumed, next())
  for (let turn = 0; turn < 3; turn++) await read(whole, next())
  const ratios: number[] = []
  let resumedMs = 0
  for (let round = 0; round < 5; round++) {
    const bodies = Array.from({ length: 10 }, next)
    resumedMs = await cpuMs(resumed, bodies)
    ratios.push((await cpuMs(whole, bodies.slice(-2))) / resumedMs)
  }
  const value = ratios.toSorted((left, right) => left - right)[2]!
  return { value, note: `${resumedMs.toFixed(2)} ms a turn in the last of 5 rounds by turns` }
}

async function stallOfImage(reader: PromptReader): Promise<ComputedFigure> {
  const url = `data:image/png;base64,${'iVBORw0KGgoAAAANSUhEUgAB'.repeat(20_000_000 / 24)}`
  const content = [messageOf(0).content, messageOf(2).content].map((text) => ({ type: 'text', text }))
  const image = { type: 'image_url', image_url: { url } }
  const messages = [{ role: 'user', content: [content[0], image, content[1]] }]
  const body = new TextEncoder().encode(JSON.stringify({ model: 'bench', messages }))
  const stalls: number[] = []
  for (let round = 0; round < 11; round++) {
    let isOver = false
    let longestMs = 0
    let last = performance.now()
    const tick = (): void => {
      const now = performance.now()
      longestMs = Math.max(longestMs, now - last)
      last = now
      if (!isOver) setTimeout(tick, 1)
    }
    // A loop that never rests would be stalled by its own thread on a busy machine.
    setTimeout(tick, 1)
    const reading = await reader.read({ endpoint: 'chat', body, tokenizer: qwen3Folder, blockSize: 16 })
    isOver = true
    await new Promise((resolve) => setTimeout(resolve, 5))
    if (reading.exactness !== 'exact_before_media') throw new Error(`got ${reading.cause}`)
    stalls.push(longestMs)
  }
  const sorted = stalls.toSorted((left, right) => left - right)
  return {
    value: sorted[5]!,
    note: `median of 11 reads, from ${sorted[0]!.toFixed(1)} to ${sorted[10]!.toFixed(1)} ms`,
  }
}
