import { describe, expect, it, onTestFinished } from 'vitest'
import readme from '../README.md?raw'
import * as prompt from '../src/index.js'
import { resolveThreadOptions } from '../src/threads/thread-options.js'
import { bytesOf } from './support/reading.js'
import { byteFolder } from './support/tokenizer-folders.js'

const fixtures = import.meta.glob(['./fixtures/*.js'], { query: '?raw', import: 'default', eager: true })

it.each(Object.entries(fixtures))('the README shows the example %s as it runs here', (_file, text) => {
  expect(readme).toContain(`\`\`\`js\n${text}\`\`\`\n`)
})

interface Example {
  readonly startReader: (folders: readonly string[], options: object) => Promise<prompt.PromptReader>
  readonly prefixOf: (
    reader: prompt.PromptReader,
    body: Uint8Array,
    folder?: string,
  ) => Promise<{ readonly exactness: string; readonly cause?: string; readonly tokens: number } & Hashes>
}

interface Hashes {
  readonly blocks: readonly bigint[]
  readonly chunks?: readonly bigint[]
}

it('the example tells what a chat may find in caches', async () => {
  // @ts-expect-error -- plain JavaScript, as an embedder would save it
  const { startReader, prefixOf } = (await import('./fixtures/read-prompts.js')) as Example
  const folder = byteFolder()
  const reader = await startReader([folder], {
    threads: 1,
    budgetMs: 60_000,
  })
  onTestFinished(() => reader.close())
  const bodyOf = (...turns: string[]): Uint8Array =>
    bytesOf({ messages: turns.map((content) => ({ role: 'user', content })) })
  const [long, other] = ['all that was said. '.repeat(20), 'and then, much later: '.repeat(20)]
  const first = await prefixOf(reader, bodyOf(long), folder)
  const second = await prefixOf(reader, bodyOf(long, other), folder)
  // `<s>`, `user:`, the message, `<s>`: a token a byte.
  expect(first).toMatchObject({ exactness: 'exact', cause: undefined, tokens: 1 + 5 + 380 + 1 })
  expect(first.blocks).toHaveLength(24)
  expect(second.blocks.slice(0, 24)).toEqual(first.blocks)
  expect([first.chunks, reader.counters().threads.reusedTokens > 0]).toEqual([undefined, true])
  const unknown = await prefixOf(reader, bodyOf(long, other))
  expect(unknown).toMatchObject({ exactness: 'approximate', cause: 'tokenizer_missing', blocks: [] })
  expect(unknown.chunks!.length).toBeGreaterThan(10)
})

describe('the README names', () => {
  const calls = Object.getOwnPropertyNames(prompt.PromptReader.prototype).filter(
    (name) => name !== 'constructor',
  )
  const options = Object.keys(resolveThreadOptions({}, new URL('file:///worker.js')))
  const named = [...Object.keys(prompt), ...calls, ...prompt.promptEndpoints, ...options]

  it.each([...new Set(named)])('%s', (name) => {
    expect(readme).toMatch(new RegExp(`\\b${name}\\b`, 'u'))
  })

  it.each([...prompt.promptCauses, ...prompt.exactnesses])('%s in a row of its own', (name) => {
    expect(readme).toContain(`\n| \`${name}\` |`)
  })

  it('error codes that exist', () => {
    for (const code of readme.match(/PROMPT_[A-Z_]*[A-Z]/gu) ?? [])
      expect(prompt.promptErrorCodes).toContain(code)
  })
})

describe('an option', () => {
  const url = new URL('file:///worker.js')

  it.each([
    ['threads', 0, 64],
    ['queueLimit', -1, 65_536],
    ['budgetMs', 0, 600_000],
    ['killAfterMs', 0, 600_000],
    ['setAsideAfter', 0, 100],
    ['setAsideMs', 0, 86_400_000],
    ['retryAfterMs', 0, 86_400_000],
    ['maxTextBytes', 0, 2 ** 30],
    ['cacheBytes', -1, 2 ** 34],
    ['maxTokenizers', 0, 1024],
    ['threadMemoryMb', 63, 65_536],
  ] as const)('%s: more than %s and at most %s', (name, below, most) => {
    for (const value of [below, most + 1, 1.5 + below, Number.NaN]) {
      expect(() => prompt.createPromptReader({ [name]: value })).toThrow(
        expect.objectContaining({ code: 'PROMPT_OPTION_INVALID', message: expect.stringContaining(name) }),
      )
    }
    for (const value of [below + 1, most])
      expect(resolveThreadOptions({ [name]: value }, url)[name]).toBe(value)
  })

  it('that is unknown is refused, with those that are accepted', () => {
    const options: object = { budgetMs: 50, budget: 50 }
    expect(() => prompt.createPromptReader(options)).toThrow(
      expect.objectContaining({
        code: 'PROMPT_OPTION_INVALID',
        message: expect.stringContaining('budgetMs'),
        details: { key: 'budget' },
      }),
    )
  })

  it('has the default that the README says', () => {
    const { queueLimit, budgetMs, killAfterMs, setAsideAfter, setAsideMs, retryAfterMs, ...others } =
      resolveThreadOptions({}, url)
    const shown = { queueLimit, budgetMs, killAfterMs, retryAfterMs }
    for (const [name, value] of Object.entries(shown))
      expect(readme).toContain(`| \`${name}\` | ${value.toLocaleString('en')} |`)
    expect(readme).toContain(
      `| \`setAsideAfter\`, \`setAsideMs\` | ${setAsideAfter}, ${setAsideMs.toLocaleString('en')} |`,
    )
    expect(readme).toContain(`| \`maxTextBytes\` | ${others.maxTextBytes / 2 ** 20} MiB |`)
    expect(readme).toContain(`| \`cacheBytes\` | ${others.cacheBytes / 2 ** 20} MiB |`)
    expect(readme).toContain(`| \`threadMemoryMb\` | ${others.threadMemoryMb.toLocaleString('en')} |`)
    expect([others.threads >= 1, others.threads <= 4]).toEqual([true, true])
  })
})
