import { describe, expect, it } from 'vitest'
import { BoundedLabels } from '../../src/metrics/bounded-labels.js'
import { everybody, promptOf } from '../fleet/support.js'
import { ask, chat, chatPath, engineOf, proxyOf } from '../proxy/support/proxies.js'
import { factsOf, measured, measuredFleet } from './support.js'

const seriesOf = (families: Awaited<ReturnType<ReturnType<typeof measured>['families']>>): number =>
  [...families.values()].reduce((sum, { series }) => sum + series.size, 0)

describe('U24: labels', () => {
  it('1,000 models, tenants and sessions: the number of series stays bounded', async () => {
    const { add, fleet, metrics, families, value } = measuredFleet()
    const serve = (from: number, to: number): void => {
      for (let model = from; model < to; model++) {
        const requestId = `session ${model}`
        metrics.finished(factsOf({ model: `model ${model}`, requestId }))
        metrics.finished(
          factsOf({ ending: 'refused', errorCode: `made up ${model}`, path: `/made/up/${model}` }),
        )
        metrics.finished(factsOf({ ignoredHints: [`hint ${model}`] }))
      }
    }
    for (let model = 0; model < 70; model++) {
      const modelName = `model ${model}`
      add(model, { modelName, totalKvBlocks: model + 1 })
      const name = { ...everybody, model: modelName }
      fleet.reserve(name, { prompt: promptOf('ab') }, { requestId: `of ${model}` })
    }
    serve(0, 600)
    const before = seriesOf(await families())
    serve(600, 1000)
    expect(seriesOf(await families())).toBe(before)
    const reused = (await families()).get('router_kv_worker_reused_tokens_total')!
    expect(reused.series.size).toBe(65)
    expect(await value('router_kv_worker_reused_tokens_total{phase="aggregated",model="model 63"}')).toBe(40)
    expect(await value('router_kv_worker_reused_tokens_total{phase="aggregated",model="other"}')).toBe(
      40 * 2936,
    )
    expect(await value('router_model_total_kv_blocks{model="other"}')).toBe(70)
    expect(await value('router_index_blocks{model="other"}')).toBe(2 * 6)
    expect((await families()).get('router_model_rejection_total')!.series.size).toBeLessThanOrEqual(513)
    expect((await families()).get('router_ignored_hints_total')!.series.size).toBe(33)
  })

  it('the first ones are known by name, and nothing is kept of the others', () => {
    const labels = new BoundedLabels(2)
    expect(['a', 'b', 'c', 'a', 'd'].map((value) => labels.of(value))).toEqual([
      'a',
      'b',
      'other',
      'a',
      'other',
    ])
    expect(labels.size).toBe(2)
  })
})

describe('U30: everything that is kept is bounded', () => {
  /** Of a fleet as this test sets it up, and of a proxy. */
  const bounds: Record<string, number> = {
    workers: 65_536,
    partitions: 1024,
    selections: 50,
    selections_bytes: 100_000,
    bookings: 1_048_576,
    index_blocks: 2000,
    stray_ranks: 0,
    stray_blocks: 0,
    believed_blocks: 2000,
    content_chunks: 2000,
    predicted_blocks: 0,
    lru_copies: 0,
    policy_warnings: 10_000,
    health_causes: 10_000,
    metric_models: 64,
    metric_workers: 65_536,
    event_batches_waiting: 0,
    event_memory: 0,
    event_references: 0,
    body_bytes: 2 ** 30,
    upstreams: 4096,
    responses: 65_536,
    waiting_retries: 65_536,
    models: 65_536,
    prompt_conversations: 4096,
    prompt_folders: 1024,
    prompt_models: 1024,
    prompts_waiting: 1024,
  }
  const entries = async ({ families }: ReturnType<typeof measured>): Promise<Record<string, number>> =>
    Object.fromEntries(
      [...(await families()).get('router_state_entries')!.series].map(([series, value]) => [
        /map="(.*)"/.exec(series)![1]!,
        value,
      ]),
    )

  it('10,000 sessions with prompts of their own: each gauge is under its bound', async () => {
    const one = measuredFleet({
      usesKvEvents: false,
      core: { approximate: { maxBlocks: 2000, ttlMs: 1_000_000 } },
      selectionCache: { maximumEntries: 50, maximumBytes: 100_000 },
    })
    const { add, fleet, metrics } = one
    add(1)
    add(2)
    let most: Record<string, number> = {}
    const words = new Uint32Array(6)
    for (let session = 0; session < 10_000; session++) {
      words.forEach((_, at) => (words[at] = (session + 1) * 10 + at))
      const blocks = { local: words.slice(), sequence: words.slice(), count: 3 }
      const terms = { chunks: { hashes: blocks, overlapBlocks: (chunks: number) => chunks } }
      const request = { prompt: { blocks, promptTokens: 12 }, terms }
      const requestId = `session ${session}`
      fleet.select(everybody, request, requestId)
      const { workerId, dpRank } = fleet.reserve(everybody, request, { requestId: `of ${requestId}` })
      metrics.finished(factsOf({ requestId, workerId, dpRank }))
      fleet.free(`of ${requestId}`)
      one.clock.ms += 10
      if (session % 2500 === 0) fleet.tick()
      if (session % 500 !== 499) continue
      for (const [name, size] of Object.entries(await entries(one))) {
        expect([name, size <= bounds[name]!]).toEqual([name, true])
        most = { ...most, [name]: Math.max(size, most[name] ?? 0) }
      }
    }
    // They were reached.
    expect(most).toMatchObject({ workers: 2, partitions: 1, selections: 50, metric_workers: 2 })
    expect([most['believed_blocks']! > 1000, most['content_chunks']! > 1000]).toEqual([true, true])
  })

  it('every size of a proxy and of the mount has its gauge', async () => {
    const engine = await engineOf()
    const router = await proxyOf([engine])
    const all = measured(router.fleet, { sizes: () => ({ decisions: 7 }) })
    all.metrics.attach(router)
    expect((await ask(router, chatPath, chat('hello '.repeat(100), { max_tokens: 1 }))).status).toBe(200)
    const found = await entries(all)
    expect(Object.keys(found).toSorted()).toEqual([...Object.keys(bounds), 'decisions'].toSorted())
    expect(found).toMatchObject({
      decisions: 7,
      workers: 1,
      upstreams: 1,
      prompt_models: 1,
      models: 1,
      body_bytes: 0,
    })
  })
})
