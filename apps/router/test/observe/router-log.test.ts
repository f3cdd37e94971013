import { expect, test } from 'vitest'
import { type LogFormat, createLogger } from '../../src/observe/router-log.js'
import type { RequestFacts } from '../../src/proxy/request-facts.js'
import type { LogLevel } from '../../src/settings/serve-settings.js'

const facts: RequestFacts = {
  requestId: 'a-1',
  path: '/v1/chat/completions',
  ending: 'answered',
  status: 200,
  errorCode: undefined,
  wantsStream: true,
  model: 'mock-model',
  workerId: 2n ** 64n - 1n,
  dpRank: 3,
  exactness: 'approximate',
  cause: 'tokenizer_missing',
  wantsTokenizer: true,
  promptTokens: 100,
  isEstimated: true,
  predictedTokens: 49.4,
  blockSize: 16,
  usage: { promptTokens: 110, cachedTokens: 48, completionTokens: 7 },
  contentChunks: 5,
  firstByteMs: 12.34567,
  totalMs: 40,
  attempts: 1,
  freshTries: 0,
  ignoredHints: [],
}

function logOf(format: LogFormat, level: LogLevel = 'info') {
  const lines: string[] = []
  const log = createLogger({ format, level, write: (line) => lines.push(line), wallMs: () => 0 })
  return { log, lines }
}

test('an access line has everything that a request was about, its text excepted', () => {
  const { log, lines } = logOf('json')
  log.request(facts)
  expect(lines).toHaveLength(1)
  expect(lines[0]!.endsWith('}\n')).toBe(true)
  expect(JSON.parse(lines[0]!)).toEqual({
    level: 'info',
    time: '1970-01-01T00:00:00.000Z',
    id: 'a-1',
    method: 'POST',
    path: '/v1/chat/completions',
    status: 200,
    ending: 'answered',
    model: 'mock-model',
    worker: '18446744073709551615.3',
    overlap_blocks: 3,
    predicted_tokens: 49,
    prompt_tokens: 110,
    cached_tokens: 48,
    output_tokens: 7,
    ttft_ms: 12.346,
    total_ms: 40,
    attempts: 1,
    exactness: 'approximate',
    cause: 'tokenizer_missing',
    message: 'request',
  })
  log.request({ ...facts, method: 'GET' })
  expect(JSON.parse(lines[1]!).method).toBe('GET')
})

test('a request that did not get far leaves out what it does not have', () => {
  const { log, lines } = logOf('json')
  const { requestId, path, totalMs, wantsTokenizer, isEstimated, ignoredHints } = facts
  const early = { requestId, path, totalMs, wantsTokenizer, isEstimated, ignoredHints, attempts: 0 }
  const missing = Object.fromEntries(Object.keys(facts).map((key) => [key, undefined]))
  log.request({
    ...missing,
    ...early,
    ending: 'refused',
    status: 404,
    errorCode: 'model_not_found',
    contentChunks: 0,
  } as unknown as RequestFacts)
  expect(Object.keys(JSON.parse(lines[0]!))).toEqual(
    'level time id method path status ending error total_ms attempts message'.split(' '),
  )
})

test.each<LogFormat>(['json', 'pretty'])(
  '%s: nobody writes lines of his own by an id, a scope or a detail',
  (format) => {
    const { log, lines } = logOf(format, 'debug')
    const evil = 'x\n{"level":"fatal"}\u001b[2J\u0085\u202eend'
    log.request({ ...facts, requestId: evil })
    log.cause({ code: 'discovery_invalid', scope: evil, detail: evil })
    log.apiRequest({ method: 'GET', path: evil, status: 404, totalMs: 1 })
    log.info(evil)
    expect(lines).toHaveLength(4)
    // oxlint-disable-next-line no-control-regex
    for (const line of lines) expect(line).toMatch(/^[^\u0000-\u001f\u007f-\u009f\u202e]+\n$/)
  },
)

test('pretty is a line for people', () => {
  const { log, lines } = logOf('pretty')
  log.cause({ code: 'no_workers', scope: 'router', detail: 'no worker takes requests' })
  log.info('two words', { where: 'http://127.0.0.1:8000', what: 'a b' })
  expect(lines).toEqual([
    '00:00:00.000 WARN  no worker takes requests code=no_workers scope=router\n',
    '00:00:00.000 INFO  two words where=http://127.0.0.1:8000 what="a b"\n',
  ])
})

test('what is below the level is not written, nor read', () => {
  const unreadable = new Proxy(facts, {
    get: () => {
      throw new Error('read')
    },
  })
  const counts = (['debug', 'info', 'warn', 'error', 'silent'] as const).map((level) => {
    const { log, lines } = logOf('json', level)
    log.debug('a')
    log.apiRequest({ method: 'GET', path: '/workers', status: 200, totalMs: 1 })
    log.info('b')
    log.request(level === 'debug' || level === 'info' ? facts : unreadable)
    log.warn('c')
    log.cause({ code: 'no_workers', scope: 'router', detail: '' })
    log.error('d')
    return lines.length
  })
  expect(counts).toEqual([7, 5, 3, 1, 0])
})
