import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MockEngine } from 'router-mock-engine'
import { describe, expect, test } from 'vitest'
import type { WorkerRegistration } from '../../src/fleet/worker-registration.js'
import { PredictionCheck } from '../../src/proxy/prediction-check.js'
import type { RequestFacts } from '../../src/proxy/request-facts.js'
import { routerOf } from '../service/support.js'
import { until } from '../until.js'
import {
  type Answer,
  type Json,
  type ProxyHost,
  afterTest,
  ask,
  chat,
  chatPath,
  engineOf,
  proxyOf,
} from './support/proxies.js'

function facts(more: Partial<RequestFacts>): RequestFacts {
  return {
    requestId: 'r',
    path: '/v1/completions',
    ending: 'answered',
    status: 200,
    errorCode: undefined,
    wantsStream: true,
    model: 'm',
    workerId: 1n,
    dpRank: 0,
    exactness: 'exact',
    cause: undefined,
    wantsTokenizer: true,
    promptTokens: 320,
    isEstimated: false,
    predictedTokens: 160,
    blockSize: 16,
    usage: { promptTokens: 320, cachedTokens: 160, completionTokens: 1 },
    contentChunks: 1,
    firstByteMs: 1,
    totalMs: 2,
    attempts: 1,
    freshTries: 0,
    ignoredHints: [],
    ...more,
  }
}

function after(check: PredictionCheck, count: number, more: Partial<RequestFacts> = {}): string[] {
  for (let turn = 0; turn < count; turn++) check.add(facts(more))
  return check.causes().map(({ code }) => code)
}

const reused = (cachedTokens: number, promptTokens = 320) => ({ usage: { promptTokens, cachedTokens } })

describe('F5: predictions that do not come true', () => {
  test.each([
    ['hash_mismatch', { predictedTokens: 160, ...reused(0) }],
    ['index_blind', { predictedTokens: 0, ...reused(160) }],
    ['eviction_drift', { predictedTokens: 160, ...reused(60) }],
    ['eviction_drift', { predictedTokens: 100, ...reused(160) }],
    ['tokenizer_missing', { cause: 'tokenizer_missing', isEstimated: true }],
    ['tokenizer_mismatch', reused(160, 321)],
    ['tokenizer_slow', { cause: 'tokenizer_slow', isEstimated: true }],
  ] as const)('raise %s, and no longer once they do: %j', (code, more) => {
    const check = new PredictionCheck()
    expect(after(check, 19, more)).toEqual([])
    expect(after(check, 181, more)).toEqual([code])
    expect(after(check, 200)).toEqual([])
  })

  test('are judged by share: of 200, 20 without tokenizer and 2 miscounted are none too many', () => {
    const check = new PredictionCheck()
    after(check, 179)
    after(check, 20, { cause: 'tokenizer_missing', isEstimated: true })
    expect(after(check, 1, reused(160, 300))).toEqual([])
    expect(after(check, 1, reused(160, 300))).toEqual(['tokenizer_mismatch'])
    expect(after(check, 21, { cause: 'tokenizer_invalid', isEstimated: true })).toContain('tokenizer_missing')
  })

  test('of short prompts, of engines that report nothing and of requests that failed are not judged', () => {
    const check = new PredictionCheck()
    expect(after(check, 30, { usage: { promptTokens: 31, cachedTokens: 0 }, promptTokens: 31 })).toEqual([])
    expect(after(check, 30, { usage: { promptTokens: 320 } })).toEqual([])
    expect(after(check, 30, { ending: 'broken', ...reused(0) })).toEqual([])
    expect(check.sums()).toEqual([
      { workerId: 1n, model: 'm', promptTokens: 930, predictedTokens: 4800, reusedTokens: 0 },
    ])
  })

  test('are judged worker by worker; only so many are remembered', () => {
    const check = new PredictionCheck()
    for (let worker = 0n; worker < 5000n; worker++) check.add(facts({ workerId: worker }))
    expect(check.sums()).toHaveLength(4096)
    after(check, 30, { workerId: 6000n, ...reused(0) })
    after(check, 30, { workerId: 4998n })
    expect(check.causes()).toEqual([{ code: 'hash_mismatch', model: 'm', workerId: 6000n, requests: 30 }])
  })
})

/** What is wrong between router and engine. */
interface Fault {
  readonly worker?: Partial<WorkerRegistration>
  /** In requests. */
  readonly body?: object
  readonly folderOf?: (engine: MockEngine) => Promise<string>
  readonly prepare?: (router: ProxyHost, engine: MockEngine) => void
}

/** The model of an engine with another chat template. */
async function otherTemplate({ modelFolder }: MockEngine): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'template-'))
  afterTest(() => rm(folder, { recursive: true }))
  await cp(modelFolder, folder, { recursive: true })
  const path = join(folder, 'tokenizer_config.json')
  const config = JSON.parse(await readFile(path, 'utf8'))
  await writeFile(
    path,
    JSON.stringify({ ...config, chat_template: `Once upon a time: ${config.chat_template}` }),
  )
  return folder
}

describe('U11: why nothing is found where it should be is named within 200 requests', () => {
  test.each<[string, string, Fault]>([
    ['another chat template', 'tokenizer_mismatch', { folderOf: otherTemplate }],
    ['a salt that events do not show', 'index_blind', { body: { cache_salt: 'a' } }],
    ['another block size', 'block_size_mismatch', { worker: { blockSize: 32 } }],
    ['another layout of blocks', 'hash_layout_mismatch', { worker: { isEagle: true } }],
    [
      'an adapter that is not known as one',
      'index_blind',
      {
        body: { model: 'sql' },
        prepare: ({ fleet }) => fleet.workers.learn(1n, { models: [{ id: 'mock-model' }, { id: 'sql' }] }),
      },
    ],
    [
      'blocks of which nothing is told',
      'index_blind',
      { prepare: (_router, engine) => engine.addFault({ kind: 'silent_events' }) },
    ],
  ])('%s: %s', async (_what, code, { worker, body, folderOf, prepare }) => {
    const engine = await engineOf({
      events: { endpoint: 'tcp://127.0.0.1:0', replayEndpoint: 'tcp://127.0.0.1:0' },
      loraAdapters: [{ name: 'sql', path: 'p' }],
    })
    const folder = await (folderOf?.(engine) ?? engine.modelFolder)
    const router = await proxyOf([], { fleet: { usesKvEvents: true }, proxy: { tokenizerOf: () => folder } })
    const [kvEventsEndpoint] = engine.kvEventsEndpoints
    const [replayEndpoint] = engine.replayEndpoints
    router.add(engine, { kvEventsEndpoint, replayEndpoint, ...worker })
    prepare?.(router, engine)
    await until('following', () => router.fleet.workers.eventReports(1n).length > 0)
    const check = new PredictionCheck()
    const causes = (): string[] => [...check.causes().map((cause) => cause.code), ...router.warnings]
    const request = chat('routers send a prompt where its blocks are. '.repeat(20), {
      max_tokens: 1,
      ...body,
    })
    for (let turn = 0; turn < 200 && !causes().includes(code); turn++) {
      expect((await ask(router, chatPath, request)).status).toBe(200)
      check.add(router.finished.at(-1)!)
    }
    expect(causes()).toContain(code)
  })
})

test('U10: without a tokenizer prompts go by their content, every record says so, and it is told once', async () => {
  const engine = await engineOf()
  const told: string[] = []
  const requests: RequestFacts[] = []
  const router = await routerOf(
    [engine],
    {},
    { onFinished: (facts) => requests.push(facts), onWarning: ({ code }) => told.push(code) },
  )
  const request = chat('routers send a prompt where its blocks are. '.repeat(20), { max_tokens: 1 })
  const headers = { 'x-router-record-decision': 'yes' }
  const answers: Answer[] = []
  for (let turn = 0; turn < 25; turn++) answers.push(await ask(router, chatPath, request, { headers }))
  expect(requests.map(({ exactness, cause }) => `${exactness} ${cause}`)).toEqual(
    Array.from({ length: 25 }, () => 'approximate tokenizer_missing'),
  )
  expect(Number(answers.at(-1)!.headers.get('x-router-overlap-blocks'))).toBeGreaterThan(10)
  for (const answer of answers) {
    const id = answer.headers.get('x-router-request-id')!
    const { decisions } = (await ask(router, `/debug/decisions/${id}`)).json
    expect(decisions).toMatchObject([{ routed_on: { exactness: 'approximate', cause: 'tokenizer_missing' } }])
  }
  const codes = async () => (await ask(router, '/health')).json.causes.map(({ code }: Json) => code)
  while (!(await codes()).includes('tokenizer_missing'))
    await new Promise((resolve) => setTimeout(resolve, 20))
  expect(told.filter((code) => code === 'tokenizer_missing')).toHaveLength(1)
})
