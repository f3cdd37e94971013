import process from 'node:process'
import { BlockHasher, BlockHashes } from '@router/kv-index'
import { BodyReader, type PromptEndpoint } from '@router/prompt'
import type { ComputedFigure, FigureRow, Timed } from '../harness/figure.js'
import { median } from '../harness/statistics.js'

const reading = 'bytes of a body to what it says of its prompt'
const chunks = 'bytes of a body to content chunks'
const imageBytes = 20_000_000
const takes = 21

/** What bodies cost without a tokenizer; rows of the `prompt` bench. */
export const promptBodyRows: readonly FigureRow[] = [
  {
    group: reading,
    name: 'chat of 44 kB',
    unit: 'us',
    countsBytes: true,
    setup: () => timeReading('chat', chatOf(20)),
  },
  {
    group: reading,
    name: 'chat of 44 kB: JSON.parse, for comparison',
    unit: 'us',
    setup: () => timeParse(chatOf(20)),
  },
  {
    group: reading,
    name: 'chat of 44 kB: a loop over the bytes, for comparison',
    unit: 'us',
    setup: () => timeLoop(chatOf(20)),
  },
  { group: reading, name: 'chat of 420 kB', unit: 'us', setup: () => timeReading('chat', chatOf(190)) },
  {
    group: reading,
    name: '128 k token ids',
    unit: 'ms',
    setup: () => timeReading('completions', idsOf(128_000)),
  },
  {
    group: chunks,
    name: 'chat of 44 kB, read and cut',
    unit: 'us',
    reach: { atMost: 60 },
    setup: () => timeChunks(chatOf(20)),
  },
  {
    group: chunks,
    name: 'chat of 44 kB with 20 tools of 12 kB',
    unit: 'us',
    setup: () => timeChunks(chatOf(20, toolsOf(20))),
  },
  {
    group: chunks,
    name: '20 MB with an image, read and cut at a stretch',
    unit: 'ms of CPU',
    reach: { atMost: 20 },
    compute: cpuOfImage,
  },
]

/** A conversation of so many turns, some 2.2 kB each with line feeds and quotes as code and prose have them. */
function chatOf(turns: number, tools?: readonly object[]): Buffer {
  const line = (turn: number, at: number) =>
    `  const value${at} = lookUp("block ${turn * 40 + at}", { limit: ${at * 7} }) // what was "seen" before\n`
  const messages = Array.from({ length: turns }, (_, turn) => ({
    role: turn % 2 === 0 ? 'user' : 'assistant',
    content: Array.from({ length: 25 }, (_line, at) => line(turn, at)).join(''),
  }))
  return Buffer.from(JSON.stringify({ model: 'a-model', messages, tools, stream: true, temperature: 0.7 }))
}

function toolsOf(count: number): object[] {
  const fields = ['query', 'limit', 'offset', 'language', 'region', 'sort']
  const property = { type: 'string', description: 'What the list of results is narrowed by.' }
  const parameters = {
    type: 'object',
    properties: Object.fromEntries(fields.map((name) => [name, property])),
    required: fields,
  }
  return Array.from({ length: count }, (_, tool) => ({
    type: 'function',
    function: {
      name: `search_${tool}`,
      description: 'Searches a catalogue and returns what it finds.',
      parameters,
    },
  }))
}

function idsOf(count: number): Buffer {
  return Buffer.from(
    JSON.stringify({ prompt: Array.from({ length: count }, (_, at) => (at * 7919) % 152_000) }),
  )
}

function timeReading(endpoint: PromptEndpoint, bytes: Buffer): Timed {
  const reader = new BodyReader(new BlockHasher())
  const body = (): number => {
    const { textBytes, tokens } = reader.read(endpoint, bytes)
    return textBytes + (tokens?.length ?? 0)
  }
  if (body() < 1000) throw new Error('expected a prompt')
  return { perCall: 1, body }
}

function timeParse(bytes: Buffer): Timed {
  return { perCall: 1, body: () => (JSON.parse(bytes.toString()) as { messages: unknown[] }).messages.length }
}

function timeLoop(bytes: Uint8Array): Timed {
  const body = (): number => {
    let quotes = 0
    for (let at = 0; at < bytes.length; at++) if (bytes[at] === 0x22) quotes++
    return quotes
  }
  return { perCall: 1, body }
}

function timeChunks(bytes: Buffer): Timed {
  const { cut, target } = cutter(bytes)
  cut()
  if (target.count < bytes.length / 64 / 1.2)
    throw new Error(`expected chunks of 64 bytes, got ${target.count}`)
  return { perCall: 1, body: cut }
}

function cutter(bytes: Buffer): { readonly cut: () => number; readonly target: BlockHashes } {
  const hasher = new BlockHasher()
  const reader = new BodyReader(hasher)
  const target = new BlockHashes()
  const layout = { blockSize: 16, seed: hasher.seedOf() }
  const cut = (): number => {
    reader.contentChunks(bytes, reader.read('chat', bytes), layout, target)
    return target.count
  }
  return { cut, target }
}

function cpuOfImage(): ComputedFigure {
  const url = `data:image/png;base64,${'iVBORw0KGgoAAAANSUhEUgAA'.repeat(imageBytes / 24)}`
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url } },
  ]
  const { cut } = cutter(Buffer.from(JSON.stringify({ messages: [{ role: 'user', content }] })))
  cut()
  const cpuMs: number[] = []
  const wallMs: number[] = []
  for (let take = 0; take < takes; take++) {
    const before = process.cpuUsage()
    const start = performance.now()
    cut()
    wallMs.push(performance.now() - start)
    const { user, system } = process.cpuUsage(before)
    cpuMs.push((user + system) / 1000)
  }
  return {
    value: median(cpuMs),
    note: `median of ${takes}; by the clock ${median(wallMs).toFixed(1)} ms, at best ${Math.min(...wallMs).toFixed(1)}`,
  }
}
