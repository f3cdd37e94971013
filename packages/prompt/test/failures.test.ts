import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import type { PromptReader } from '../src/prompt-reader.js'
import type { PromptReading } from '../src/prompt-reading.js'
import { atOnce, requestOf, testReader } from './support/reading.js'
import { temporaryFolder } from './support/stand-in.js'
import { byteFolder, byteTokenizer, qwen3 } from './support/tokenizer-folders.js'

const text = 'The engine holds a prefix of this prompt. '.repeat(20)
const chat = { model: 'm', messages: [{ role: 'user', content: text }] }

const readChat = async (reader: PromptReader, tokenizer: string): Promise<PromptReading> =>
  reader.read(requestOf('chat', chat, { tokenizer }))

/** A reading that can be routed all the same, and says why it is no better. */
function expectApproximate(reading: PromptReading, cause: string, detail: unknown): void {
  expect(reading).toMatchObject({ exactness: 'approximate', cause, detail, tokens: undefined })
  expect(reading.chunks!.count).toBe(Math.floor(reading.body.textBytes / 64))
  expect(reading.promptTokens).toBe(Math.ceil(reading.body.textBytes / 4))
}

describe('a tokenizer that is not there', () => {
  it('because no folder is named: at once, on content chunks', async () => {
    const reader = testReader()
    expectApproximate(atOnce(reader.read(requestOf('chat', chat))), 'tokenizer_missing', undefined)
    expect(reader.counters()).toMatchObject({ wanted: 1, causes: { tokenizer_missing: 1 } })
    expect(reader.counters().threads.jobs).toBe(0)
  })

  it('because the folder is empty: named in the detail', async () => {
    const reader = testReader()
    const folder = temporaryFolder()
    expectApproximate(await readChat(reader, folder), 'tokenizer_missing', expect.stringContaining(folder))
  })

  it('but for its chat template: strings are read', async () => {
    const reader = testReader()
    const folder = byteFolder(null)
    expectApproximate(
      await readChat(reader, folder),
      'tokenizer_missing',
      expect.stringContaining('template'),
    )
    const request = requestOf('completions', { prompt: 'hello' }, { tokenizer: folder })
    expect(await reader.read(request)).toMatchObject({ exactness: 'exact', promptTokens: 5 })
  })
})

describe('a tokenizer that cannot be used', () => {
  it.each([
    ['cut', JSON.stringify(byteTokenizer()).slice(0, 300)],
    ['of another version', JSON.stringify({ ...byteTokenizer(), version: '9.9' })],
    ['of another kind', JSON.stringify({ ...byteTokenizer(), model: { type: 'Magic' } })],
    ['no JSON object', '[]'],
  ])('%s: told once, every prompt routed', async (_name, tokenizer) => {
    const onWarning = vi.fn()
    const reader = testReader({ onWarning })
    const folder = byteFolder()
    writeFileSync(join(folder, 'tokenizer.json'), tokenizer)
    for (let time = 0; time < 3; time++)
      expectApproximate(await readChat(reader, folder), 'tokenizer_invalid', expect.stringContaining(folder))
    expect(onWarning).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ code: 'tokenizer_unavailable', folder }),
    )
    expect(reader.counters().causes.tokenizer_invalid).toBe(3)
    expect(reader.counters().threads).toMatchObject({ loadsFailed: 1, unavailable: 3, failed: 0 })
    await expect(reader.load(folder)).rejects.toMatchObject({ code: 'PROMPT_TOKENIZER_INVALID' })
  })
})

function deep(depth: number): unknown {
  return depth === 0 ? 1 : [deep(depth - 1)]
}

describe('a chat template', () => {
  it.each([
    ['that refuses', "{{ raise_exception('roles must alternate') }}", 'roles must alternate'],
    ['that is none', '{% for %}', 'cannot be parsed'],
    [
      'that writes without end',
      '{% for i in range(99999) %}{% for j in range(99999) %}{{ messages[0].content }}{% endfor %}{% endfor %}',
      'it gives more than',
    ],
  ])('%s: routed on content chunks, with its words', async (_name, template, words) => {
    const reader = testReader()
    const folder = byteFolder(template)
    expectApproximate(await readChat(reader, folder), 'template_failed', expect.stringContaining(words))
    // The next prompt may be another one.
    const request = requestOf('completions', { prompt: 'hello' }, { tokenizer: folder })
    expect(await reader.read(request)).toMatchObject({ exactness: 'exact', promptTokens: 5 })
  })

  it('that makes much of a little: bounded as the body is', async () => {
    const reader = testReader({ maxTextBytes: 2000 })
    const tokenizer = byteFolder('{{ tools | tojson(indent=4) }}')
    const nested = (depth: number): object => ({ ...chat, messages: [], tools: [deep(depth)] })
    const readNested = async (depth: number): Promise<PromptReading> =>
      reader.read(requestOf('chat', nested(depth), { tokenizer }))
    expect(await readNested(10)).toMatchObject({ exactness: 'exact' })
    expect(await readNested(30)).toMatchObject({
      exactness: 'approximate',
      cause: 'template_failed',
      detail: expect.stringContaining('2000 characters'),
    })
    expect(reader.counters().threads).toMatchObject({ done: 1, failed: 1, killed: 0 })
  })

  it('that never ends costs its thread, and set aside it costs no more', async () => {
    const reader = testReader({ killAfterMs: 500, setAsideAfter: 2 })
    const loop = '{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}'
    const folder = byteFolder(loop)
    const readings = [readChat(reader, folder), readChat(reader, folder), readChat(reader, folder)]
    expectApproximate(await readings[0]!, 'tokenizer_failed', 'killed')
    expectApproximate(await readings[1]!, 'tokenizer_failed', 'killed')
    expectApproximate(await readings[2]!, 'tokenizer_failed', 'set_aside')
    const { threads } = reader.counters()
    expect(threads).toMatchObject({ killed: 2, setAside: 1, refusedSetAside: 1 })
  })
})

describe('a tokenizer that is slow', () => {
  it('leaves the request its content chunks; what it did serves the next turn', async () => {
    const reader = testReader({ budgetMs: 1 })
    expectApproximate(await readChat(reader, qwen3), 'tokenizer_slow', undefined)
    await vi.waitUntil(() => reader.counters().threads.finishedLate === 1, 50_000)
    expect(reader.counters().threads).toMatchObject({ late: 1, done: 1, reusedTokens: 0 })
    await readChat(reader, qwen3)
    await vi.waitUntil(() => reader.counters().threads.done === 2, 50_000)
    expect(reader.counters().threads.reusedTokens).toBeGreaterThan(100)
  })

  it('is not waited for where too many wait; token ids never wait', async () => {
    const reader = testReader({ queueLimit: 0 })
    const first = readChat(reader, qwen3)
    expectApproximate(await readChat(reader, qwen3), 'tokenizer_slow', undefined)
    expect(reader.counters()).toMatchObject({ busyThreads: 1, threads: { queueFull: 1 } })
    const ids = requestOf('completions', { prompt: [1, 2, 3] }, { tokenizer: qwen3 })
    expect(atOnce(reader.read(ids))).toMatchObject({ exactness: 'exact', promptTokens: 3 })
    expect((await first).exactness).toBe('exact')
  })

  it('is not asked for more bytes than it may have', async () => {
    const reader = testReader({ maxTextBytes: 500 })
    expectApproximate(await readChat(reader, byteFolder()), 'too_large', undefined)
    expect(reader.counters()).toMatchObject({ causes: { too_large: 1 }, threads: { tooLarge: 1 } })
    // Media are not among them: they are not sent.
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${text}` } }
    const messages = [{ role: 'user', content: [image] }]
    const request = requestOf('chat', { messages }, { tokenizer: byteFolder() })
    expect(await reader.read(request)).toMatchObject({ exactness: 'exact_before_media' })
  })
})

describe('a reader that is closed', () => {
  it('still reads: what waits and what comes is approximate', async () => {
    const reader = testReader()
    const waiting = [readChat(reader, qwen3), readChat(reader, qwen3)]
    await reader.close()
    for (const reading of [...waiting, readChat(reader, qwen3)])
      expectApproximate(await reading, 'tokenizer_failed', 'closed')
    expect(atOnce(reader.read(requestOf('completions', { prompt: [1] }))).exactness).toBe('exact')
  })
})

it('a body that was changed while it waited is refused, not lost', async () => {
  const reader = testReader()
  const request = requestOf('chat', chat, { tokenizer: temporaryFolder() })
  const reading = reader.read(request)
  request.body.fill(0)
  // What was read last would be remembered.
  reader.read(requestOf('completions', { prompt: [1] }))
  await expect(reading).rejects.toMatchObject({ code: 'PROMPT_BODY_INVALID' })
  expect(reader.counters()).toMatchObject({ requests: 2, refused: 1, exactness: { exact: 1 } })
})

describe('estimates', () => {
  it('learn nothing from prompts with media', async () => {
    const reader = testReader()
    const content = [
      { type: 'text', text },
      { type: 'image_url', image_url: { url: 'x' } },
    ]
    const body = { messages: [{ role: 'user', content }], chat_template: 'own' }
    const read = (): PromptReading => atOnce(reader.read(requestOf('chat', body)))
    const before = read()
    for (let time = 0; time < 50; time++) reader.learn(read(), 2 * before.promptTokens)
    expect(read().promptTokens).toBe(before.promptTokens)
  })

  it('follow what engines counted, model by model', async () => {
    const reader = testReader()
    const read = (model: string): PromptReading => atOnce(reader.read(requestOf('chat', { ...chat, model })))
    const before = read('m')
    expect(reader.overlapBlocks(before, 8)).toBe(8)
    for (let time = 0; time < 200; time++) reader.learn(read('m'), Math.round(before.body.textBytes / 2))
    expect(read('m').promptTokens).toBeGreaterThan(1.8 * before.promptTokens)
    expect(read('other').promptTokens).toBe(before.promptTokens)
    const renamed = reader.read(requestOf('chat', { ...chat, model: 'other' }, { model: 'm' }))
    expect(atOnce(renamed)).toMatchObject({ model: 'm', promptTokens: read('m').promptTokens })
    expect(reader.overlapBlocks(before, 8)).toBeGreaterThan(14)
  })
})
