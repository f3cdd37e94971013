import { describe, expect, test } from 'vitest'
import { StreamWatch } from '../../src/proxy/stream-watch.js'
import { usageIn } from '../../src/proxy/usage.js'

const content = (text: string) =>
  `data: {"choices":[{"index":0,"delta":{"content":${JSON.stringify(text)}}}]}\n\n`
const role = 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
const usage =
  'data: {"id":"x","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}\n\n'
const done = 'data: [DONE]\n\n'
const whole = [
  ': ping\n\n',
  role,
  content('a'),
  content('"usage":{ [DONE]'),
  content('\u{1f600}'),
  usage,
  done,
]

/** Everything that passes, cut into chunks of this size. */
function passed(watch: StreamWatch, text: string, size: number): string {
  const bytes = Buffer.from(text)
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size)
    pieces.push(Buffer.from(watch.push(bytes.subarray(at, at + size))))
  return Buffer.concat([...pieces, watch.rest() ?? Buffer.alloc(0)]).toString()
}

describe('a watched stream', () => {
  test.each([1, 2, 3, 7, 16, 50, 64, 1000])(
    'passes whole but for the usage, in chunks of %d bytes',
    (size) => {
      const watch = new StreamWatch('chat', true)
      expect(passed(watch, whole.join(''), size)).toBe(whole.filter((event) => event !== usage).join(''))
      expect(watch).toMatchObject({
        contentChunks: 3,
        isDone: true,
        hasError: false,
        usage: { promptTokens: 9, cachedTokens: 4, completionTokens: 3 },
      })
    },
  )

  test('passes the very bytes where an event ends with its chunk', () => {
    const chunk = Buffer.from(content('a') + content('b'))
    expect(new StreamWatch('chat', true).push(chunk)).toBe(chunk)
  })

  test('with line ends of two characters', () => {
    const watch = new StreamWatch('chat', true)
    const text = whole.join('').replaceAll('\n', '\r\n')
    expect(passed(watch, text, 13)).toBe(text.replace(usage.replaceAll('\n', '\r\n'), ''))
    expect(watch.contentChunks).toBe(3)
  })

  test('keeps the usage that the client asked for, and usage beside content', () => {
    const asked = new StreamWatch('chat', false)
    expect(passed(asked, whole.join(''), 33)).toBe(whole.join(''))
    expect(asked.usage).toMatchObject({ promptTokens: 9 })
    const beside = content('a').replace('}]}', '}],"usage":{"prompt_tokens":1}}')
    expect(passed(new StreamWatch('chat', true), beside, 10)).toBe(beside)
  })

  test('ends with the first error', () => {
    const watch = new StreamWatch('chat', true)
    const error = 'data: {"error": {"message": "no"}}\n\n'
    expect(passed(watch, content('a') + error + done, 11)).toBe(content('a') + error)
    expect(watch).toMatchObject({ hasError: true, isDone: false })
    const innocent = 'data: {"error":null,"choices":[]}\n\n'
    expect(passed(new StreamWatch('chat', true), innocent, 5)).toBe(innocent)
  })

  test('lets an event through that never ends', () => {
    const watch = new StreamWatch('chat', true)
    const text = `data: ${'x'.repeat(3_000_000)}`
    expect(passed(watch, text, 65_536)).toBe(text)
  })

  test('passes what follows the last event, when the stream ends', () => {
    expect(passed(new StreamWatch('chat', true), `${content('a')}data: half`, 20)).toBe(
      `${content('a')}data: half`,
    )
  })

  test.each([
    ['completions', 'data: {"choices":[{"text":"a"}]}\n\n', 1],
    ['completions', 'data: {"choices":[{"text":""}]}\n\n', 0],
    ['chat', 'data: {"choices": [{"delta": {"content": "a"}}]}\n\n', 1],
    ['chat', 'data: {"choices":[{"delta":{"content":null,"reasoning_content":"a"}}]}\n\n', 1],
    ['chat', 'data: {"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}\n\n', 1],
    ['chat', 'data: {"choices":[{"delta":{"tool_calls":[]},"logprobs":{"content":[]}}]}\n\n', 0],
    [
      'responses',
      'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"a"}\n\n',
      1,
    ],
    [
      'responses',
      'event: response.created\ndata: {"type":"response.created","response":{"id":"resp_1"}}\n\n',
      0,
    ],
    [
      'messages',
      'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"a"}}\n\n',
      1,
    ],
    ['messages', 'event: ping\ndata: {"type":"ping"}\n\n', 0],
  ] as const)('%s: content in %s is counted %d times', (endpoint, event, count) => {
    const watch = new StreamWatch(endpoint, false)
    watch.push(Buffer.from(event))
    expect(watch.contentChunks).toBe(count)
  })
})

test('usage is read in the shapes of each API, the last one of an answer', () => {
  const of = (text: string) => usageIn(Buffer.from(text))
  expect(
    of('{"usage":{"prompt_tokens":5,"completion_tokens":2,"prompt_tokens_details":null}}'),
  ).toMatchObject({ promptTokens: 5, completionTokens: 2 })
  expect(
    of('{"usage":{"input_tokens":5,"input_tokens_details":{"cached_tokens":3},"output_tokens":1}}'),
  ).toEqual({ promptTokens: 5, cachedTokens: 3, completionTokens: 1 })
  expect(of('{"usage":{"input_tokens":5,"cache_read_input_tokens":16,"output_tokens":1}}')).toEqual({
    promptTokens: 21,
    cachedTokens: 16,
    completionTokens: 1,
  })
  expect(of('{"usage":null}')).toBeUndefined()
  expect(of('{"usage":{"prompt_tokens":-5,"completion_tokens":"x"}}')).toEqual({})
  expect(of('{"usage":{')).toBeUndefined()
  expect(of('{}')).toBeUndefined()
})
