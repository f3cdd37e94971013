import { describe, expect, test } from 'vitest'
import { type Json, ask, serverForTests } from '../support/mock-server.js'

const engine = await serverForTests({ embeddingDimensions: 8 })

describe('/v1/embeddings', () => {
  const embed = (body: object) => ask(engine, '/v1/embeddings', body)

  test('gives a vector of length 1 for each input, the same for text and ids', async () => {
    const { tokens } = (await ask(engine, '/tokenize', { prompt: 'a cache' })).json
    const { json } = await embed({ input: ['a cache', 'a router', 'a cache'] })
    expect(json).toMatchObject({ id: expect.stringMatching(/^embd-/u), object: 'list', model: 'mock-model' })
    const vectors = json.data.map((each: Json) => each.embedding) as number[][]
    expect(json.data.map(({ index, object }: Json) => [index, object])).toEqual(
      [0, 1, 2].map((at) => [at, 'embedding']),
    )
    expect(vectors.map((vector) => vector.length)).toEqual([8, 8, 8])
    for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1, 6)
    expect(vectors[2]).toEqual(vectors[0])
    expect(vectors[1]).not.toEqual(vectors[0])
    expect((await embed({ input: [tokens] })).json.data[0].embedding).toEqual(vectors[0])
    expect((await embed({ input: tokens })).json.usage).toEqual({
      prompt_tokens: tokens.length,
      total_tokens: tokens.length,
      completion_tokens: 0,
      prompt_tokens_details: { cached_tokens: 0 },
    })
  })

  test('gives base64 of 32-bit floats on request, and fewer dimensions', async () => {
    const plain = (await embed({ input: 'x' })).json.data[0].embedding
    const bytes = Buffer.from(
      (await embed({ input: 'x', encoding_format: 'base64' })).json.data[0].embedding,
      'base64',
    )
    expect(Array.from({ length: 8 }, (_, at) => bytes.readFloatLE(at * 4))).toEqual(plain)
    expect((await embed({ input: 'x', dimensions: 3 })).json.data[0].embedding).toHaveLength(3)
    expect((await embed({ input: 'x', dimensions: 9 })).json.error.param).toBe('dimensions')
  })

  test('takes a conversation, and refuses nothing', async () => {
    const { json } = await embed({ messages: [{ role: 'user', content: 'x' }] })
    expect(json.data).toHaveLength(1)
    expect((await embed({})).status).toBe(400)
    expect((await embed({ input: [] })).status).toBe(400)
    expect((await embed({ input: 'x', model: 'no' })).status).toBe(404)
  })

  test('reads its prompt through the engine, and finds it in the cache', async () => {
    const input = 'A long input that fills some blocks of the cache. '.repeat(5)
    await embed({ input })
    expect((await embed({ input })).json.usage.prompt_tokens_details.cached_tokens).toBeGreaterThan(0)
  })
})

test('/pooling gives vectors as data', async () => {
  const { json } = await ask(engine, '/pooling', { input: ['x', 'y'] })
  expect(json.data.map(({ index, object, data }: Json) => [index, object, data.length])).toEqual([
    [0, 'pooling', 8],
    [1, 'pooling', 8],
  ])
})

test.each(['/score', '/v1/score'])('%s compares one text with many, or pair by pair', async (path) => {
  const score = (text_1: unknown, text_2: unknown) => ask(engine, path, { text_1, text_2 })
  const scores = async (...texts: [unknown, unknown]) =>
    (await score(...texts)).json.data.map((each: Json) => each.score) as number[]
  const [same, near, far] = await scores('the cache of a router', [
    'the cache of a router',
    'the cache of a worker',
    'nope',
  ])
  expect(same).toBeCloseTo(1, 6)
  expect(same).toBeGreaterThan(near!)
  expect(near).toBeGreaterThan(far!)
  expect(await scores(['a', 'b'], ['a', 'b'])).toEqual([expect.closeTo(1, 6), expect.closeTo(1, 6)])
  expect(await scores('a', 'a')).toHaveLength(1)
  for (const [one, other] of [
    [['a', 'b'], ['a']],
    [[], []],
    [1, 'a'],
  ])
    expect((await score(one, other)).status).toBe(400)
})

test.each(['/rerank', '/v1/rerank', '/v2/rerank'])('%s puts the nearest first', async (path) => {
  const documents = ['nope', 'the cache of a worker', 'the cache of a router']
  const rerank = (more: object = {}) =>
    ask(engine, path, { query: 'the cache of a router', documents, ...more })
  const { json } = await rerank()
  expect(json.results.map((result: Json) => result.index)).toEqual([2, 1, 0])
  expect(json.results[0]).toEqual({
    index: 2,
    document: { text: documents[2], multi_modal: null },
    relevance_score: expect.closeTo(1, 6),
  })
  expect(json.usage.prompt_tokens).toBe(json.usage.total_tokens)
  expect((await rerank({ top_n: 1 })).json.results).toHaveLength(1)
  expect((await rerank({ documents: [] })).status).toBe(400)
})
