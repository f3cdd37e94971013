import { expect, test } from 'vitest'
import { targetOf } from '../../src/proxy/endpoints.js'
import { RequestBookings } from '../../src/proxy/request-bookings.js'
import { takeIn } from '../../src/proxy/request-intake.js'
import { routerOf } from '../service/support.js'
import { until } from '../until.js'
import { ask, chat, chatPath, engineOf, proxyOf } from './support/proxies.js'

type Row = readonly [what: string, path: string, body: object, ...expected: Expected]
/** How exactly it is known, why not, its tokens, and whether the second time some of it is found. */
type Expected = readonly [
  exactness: string,
  cause: string | undefined,
  tokens: 'counted' | 'estimated',
  isFound: boolean,
]

const model = 'mock-model'
const completions = '/v1/completions'
/** Different words for each row. */
const text = (row: number) => `row ${row}: routers send a prompt where its blocks are. `.repeat(12)
const ids = (row: number) => Array.from({ length: 70 }, (_, at) => 100 + 80 * row + at)
const parameters = { type: 'object', properties: {} }
const tool = { type: 'function', function: { name: 'look', parameters } }
const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(400)}` } }
const question = (row: number) => ({ role: 'user', content: text(row) })
const begun = { role: 'assistant', content: 'It begins so' }
const exact: Expected = ['exact', undefined, 'counted', true]
const nothing: Expected = ['nothing', undefined, 'estimated', false]
const guessed = (cause: string): Expected => ['approximate', cause, 'estimated', true]

/** Every row of "What a request is routed on" (host.md 14.2). */
const rows: readonly Row[] = [
  ['ids', completions, { prompt: ids(0) }, ...exact],
  ['a string', completions, { prompt: text(1) }, ...exact],
  ['a string without BOS', completions, { prompt: text(2), add_special_tokens: false }, ...exact],
  ['a list of ids', completions, { prompt: [ids(3), [1, 2, 3]] }, ...exact],
  ['a list of strings', completions, { prompt: [text(4), 'and another'] }, ...exact],
  ['n', completions, { prompt: ids(5), n: 3 }, ...exact],
  ['best_of', completions, { prompt: ids(6), best_of: 3 }, ...exact],
  ['a truncated prompt', completions, { prompt: text(7), truncate_prompt_tokens: 40 }, ...exact],
  ['a chat', chatPath, chat(text(8)), ...exact],
  ['tools', chatPath, chat(text(9), { tools: [tool] }), ...exact],
  ['documents', chatPath, chat(text(10), { documents: [{ title: 'T', text: 'words' }] }), ...exact],
  ['template settings', chatPath, chat(text(11), { chat_template_kwargs: { a: 1 } }), ...exact],
  [
    'a begun answer',
    chatPath,
    { messages: [question(12), begun], continue_final_message: true, add_generation_prompt: false },
    ...exact,
  ],
  ['no generation prompt', chatPath, chat(text(13), { add_generation_prompt: false }), ...exact],
  ['special tokens', chatPath, chat(text(14), { add_special_tokens: true }), ...exact],
  ['a truncated chat', chatPath, chat(text(15), { truncate_prompt_tokens: 40 }), ...exact],
  [
    'a template of its own',
    chatPath,
    chat(text(16), { chat_template: '{{ 1 }}' }),
    ...guessed('client_template'),
  ],
  [
    'media',
    chatPath,
    chat([{ type: 'text', text: text(17) }, picture]),
    'exact_before_media',
    'media',
    'estimated',
    true,
  ],
  ['a response', '/v1/responses', { input: text(18) }, ...exact],
  [
    'a response to another',
    '/v1/responses',
    { input: text(19), previous_response_id: 'resp_nobody' },
    ...guessed('previous_response'),
  ],
  ['messages', '/v1/messages', { messages: [question(20)] }, ...guessed('messages')],
  ['count_tokens', '/v1/messages/count_tokens', { messages: [question(21)] }, ...nothing],
  ['embeddings', '/v1/embeddings', { input: text(22) }, ...nothing],
  ['embeddings of ids', '/v1/embeddings', { input: ids(23) }, 'nothing', undefined, 'counted', false],
  ['rerank', '/v1/rerank', { query: text(24), documents: ['a', 'b'] }, ...nothing],
  ['score', '/v1/score', { text_1: text(25), text_2: 'b' }, ...nothing],
  ['pooling', '/pooling', { input: text(26) }, ...nothing],
  ['tokenize', '/tokenize', { prompt: text(27) }, ...nothing],
  ['detokenize', '/detokenize', { tokens: ids(28) }, 'nothing', undefined, 'counted', false],
]

test('A7: every row of what a request is routed on: hashes, tokens, load', async () => {
  const engine = await engineOf()
  const loads: number[] = []
  const router = await proxyOf([engine], {
    proxy: { tokenizerOf: () => engine.modelFolder },
    watch: {
      // Called once the request is booked.
      begin: () => {
        const partition = router.fleet.partitions[0]!.router
        loads.push(partition.ledger.loadOf(partition.slotOf(1n, 0)).activePrefillTokens)
        return { head: () => undefined, byte: () => undefined, end: () => undefined }
      },
    },
  })
  const found: unknown[] = []
  for (const [what, path, body] of rows) {
    const request = { model, ...(path.startsWith('/v1/resp') ? {} : { max_tokens: 1 }), ...body }
    const answers = [await ask(router, path, request), await ask(router, path, request)]
    const [first, second] = router.finished.slice(-2)
    const { exactness, cause, promptTokens, isEstimated, usage } = first!
    const isFound = Number(answers[1]!.headers.get('x-router-overlap-blocks')) > 0
    found.push([what, exactness, cause, isEstimated ? 'estimated' : 'counted', isFound])
    // As the engine counted them, and all of them booked.
    if (!isEstimated && usage?.promptTokens !== undefined)
      expect([what, promptTokens]).toEqual([what, usage.promptTokens])
    expect([what, loads.at(-2)]).toEqual([what, promptTokens])
    expect(promptTokens).toBeGreaterThan(0)
    expect([what, second!.promptTokens! - loads.at(-1)!]).toEqual([what, second!.predictedTokens ?? 0])
  }
  expect(found).toEqual(rows.map(([what, , , ...expected]) => [what, ...expected]))
  expect(router.booked()).toBe(0)
})

test('A7: n or best_of k is hashed as one and decodes k times, for each prompt of a list', async () => {
  const router = await proxyOf([{ url: 'http://127.0.0.1:9' }], {
    fleet: { core: { tracksOutputBlocks: true } },
  })
  const { state } = router.proxy
  const { target } = targetOf(completions)!
  if (target.kind !== 'routed') throw new Error('completions are routed')
  const { ledger } = router.fleet.partitions[0]!.router
  const slot = router.fleet.partitions[0]!.router.slotOf(1n, 0)
  const prompt = ids(0).slice(0, 64)
  const blocksAfter = async (body: object, tokens: number): Promise<number[]> => {
    const request = { model, nvext: { agent_hints: { osl: 32 } }, ...body }
    const intake = takeIn(state, target.endpoint, { headers: {} }, Buffer.from(JSON.stringify(request)))
    const bookings = new RequestBookings(state, intake, await intake.reading)
    bookings.reserve()
    const booked = ledger.loadOf(slot).activeBlocks
    bookings.progressed(tokens)
    const after = ledger.loadOf(slot).activeBlocks
    bookings.free()
    return [booked, after]
  }
  // Four blocks of prompt, two of output, weighed by the share of all output that is to come.
  expect(await blocksAfter({ prompt }, 32)).toEqual([4, 0])
  expect(await blocksAfter({ prompt, n: 2 }, 32)).toEqual([4, 3])
  expect(await blocksAfter({ prompt, best_of: 4 }, 32)).toEqual([4, 5])
  expect(await blocksAfter({ prompt: [prompt, []] }, 32)).toEqual([4, 3])
})

test('U15: every front door books: the ledger has what is in flight', async () => {
  const engine = await engineOf()
  engine.addFault({ kind: 'hang' })
  const router = await routerOf([engine])
  const { ledger } = router.fleet.partitions[0]!.router
  const stuck: Promise<unknown>[] = []
  const bodies = new Map(rows.map(([, path, body]) => [path, { model, max_tokens: 1, ...body }]))
  expect(bodies.size).toBe(11)
  for (const [path, body] of bodies) stuck.push(ask(router, path, body).catch(() => undefined))
  await until('all are booked', () => ledger.live === bodies.size && engine.stats().in_flight === bodies.size)
  const selection = { model_name: model, token_ids: ids(0), selection_id: 'selected' }
  expect((await ask(router, '/select_and_reserve', selection)).status).toBe(200)
  const { registration } = router.fleet.workers.list()[0]!
  const chosen = { ...selection, selection_id: 'chosen', worker_id: String(registration.workerId) }
  expect((await ask(router, '/reservations', chosen)).status).toBe(201)
  expect(ledger.live).toBe(bodies.size + 2)
  router.abort()
  await Promise.all(stuck)
  expect(ledger.live).toBe(2)
  for (const id of ['selected', 'chosen'])
    await ask(router, `/reservations/${id}`, undefined, { method: 'DELETE' })
  expect([ledger.live, ledger.audit()]).toEqual([0, []])
})
