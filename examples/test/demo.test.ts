import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { startMockEngine } from 'router-mock-engine'
import { afterAll, expect, test } from 'vitest'
import { Client } from '../demo/client.js'
import { runDemo } from '../demo/command.js'
import type { Comparison } from '../demo/compare.js'
import { InfiniteCache } from '../demo/infinite-cache.js'
import { measure } from '../demo/measure.js'
import { demoPolicies } from '../demo/policies.js'
import { ceilingOf } from '../demo/prepare.js'
import { reachOf } from '../demo/reach.js'
import { sessionWorkload } from '../demo/sessions.js'
import { carriedRows, readTrace, traceWorkload } from '../demo/trace.js'
import { requestsOf } from '../demo/workload.js'

const folder = mkdtempSync(join(tmpdir(), 'router-demo-'))
afterAll(() => rmSync(folder, { recursive: true }))

async function demo(...args: string[]) {
  let output = ''
  let errors = ''
  const exitCode = await runDemo(args, {
    folder,
    write: (text) => (output += `${text}\n`),
    writeError: (text) => (errors += `${text}\n`),
    progress: new Writable({ write: (_chunk, _encoding, done) => done() }),
  })
  return { exitCode, output, errors }
}

test('the demo in short: the default policy finds more in caches than round robin, and knows how much', async () => {
  const args = ['--sessions', '8', '--rows', '6', '--policies', 'round-robin,default', '--speedup', '200']
  const { exitCode, output } = await demo(...args, '--json', 'demo.json')
  expect(exitCode).toBe(0)
  expect(output).toMatch(/policy.*engines hit.*round-robin.*default.*Mooncake.*round-robin.*default/su)
  expect(output).toMatch(/(?:reached|not reached) +default: .* of the ceiling, wanted 95\.0 %/u)
  const { comparisons, reach } = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8')) as {
    readonly comparisons: readonly Comparison[]
    readonly reach: readonly { readonly policy: string }[]
  }
  expect(reach.map(({ policy }) => policy)).toEqual(['default', 'default', 'default'])
  expect(comparisons.map(({ workload, requests }) => [workload, requests])).toEqual([
    ['sessions', 52],
    ['trace', 6],
  ])
  const [roundRobin, standard] = comparisons[0]!.policies
  expect(standard!.hitRate).toBeGreaterThan(roundRobin!.hitRate)
  expect(standard!.movedTurns).toBeLessThan(roundRobin!.movedTurns)
  expect(standard!.ofCeiling).toBeLessThanOrEqual(1)
  expect(roundRobin!.busiestByMean).toBeLessThan(1.2)
  expect(roundRobin!.blockWeightedRate).toBeUndefined()
  // However slow the machine; how close it can be, the demo itself shows.
  expect(Math.abs(standard!.blockWeightedRate! / standard!.hitRate - 1)).toBeLessThan(0.15)
  for (const { policies } of comparisons)
    for (const { firstTokenP50Ms, firstTokenP95Ms } of policies) {
      expect(firstTokenP50Ms).toBeGreaterThan(0)
      expect(firstTokenP95Ms).toBeGreaterThanOrEqual(firstTokenP50Ms)
    }
})

test('the demo refuses what it does not know, and has a help', async () => {
  for (const [args, message] of [
    [['--policies', 'default,nearest'], 'accepted: round-robin, least-loaded, default'],
    [['--rows', '501'], 'accepted: a whole number from 0 to 500'],
    [['--sesions', '3'], '--sessions'],
  ] as const) {
    const { exitCode, errors } = await demo(...args)
    expect([exitCode, errors.includes(message)]).toEqual([2, true])
  }
  const nowhere = await demo('--json', 'nowhere/demo.json')
  expect([nowhere.exitCode, nowhere.errors]).toEqual([1, expect.stringContaining(join(folder, 'nowhere'))])
  const { exitCode, output } = await demo('--help')
  expect(exitCode).toBe(0)
  expect(output).toMatch(/--seed.*--policies.*--json/su)
})

test('the ceiling is what an engine finds whose cache has no end', async () => {
  const workload = sessionWorkload(3, 1)
  const { promptTokens, cachedTokens, distinctBlocks } = await ceilingOf(workload)
  const engine = await startMockEngine({
    blockSize: workload.blockSize,
    blocksPerRank: 2 ** 20,
    speedup: 1e6,
  })
  const client = new Client(engine.url)
  try {
    for (const { turns } of workload.conversations) {
      const answers: string[] = []
      for (const { path, body } of turns) answers.push((await client.ask(path, body(answers))).text)
    }
    const { tokens } = engine.stats()
    expect({ prompt: promptTokens, cached: cachedTokens }).toEqual({
      prompt: tokens.prompt,
      cached: tokens.cached,
    })
    expect(distinctBlocks * workload.blockSize).toBeGreaterThan(
      promptTokens - cachedTokens - 16 * requestsOf(workload),
    )
  } finally {
    client.close()
    await engine.close()
  }
})

test('an infinite cache finds whole blocks from the start on, leaves a token to compute, and keeps outputs but the last token', () => {
  const cache = new InfiniteCache(4)
  const prompt = Uint32Array.of(1, 2, 3, 4, 5, 6, 7, 8)
  expect(cache.take(prompt, Uint32Array.of(9, 10, 11, 12))).toBe(0)
  expect(cache.take(prompt, new Uint32Array())).toBe(4)
  // The block of outputs had three tokens when the last one came.
  expect(cache.take(Uint32Array.of(...prompt, 9, 10, 11, 12, 13), new Uint32Array())).toBe(8)
  expect(cache.take(Uint32Array.of(...prompt, 9, 10, 11, 12, 13), Uint32Array.of(14, 15, 16, 17))).toBe(12)
  expect(cache.take(Uint32Array.of(...prompt, 9, 10, 11, 12, 13, 14, 15, 16, 17), new Uint32Array())).toBe(16)
  // The second block alone, without what came before it, is another one.
  expect(cache.take(Uint32Array.of(5, 6, 7, 8, 9), new Uint32Array())).toBe(0)
  expect(cache.promptBlocks).toBe(5)
})

test('sessions follow from their seed: 3 to 12 turns, each length as often as the others, system prompts shared', () => {
  const bodies = (seed: number): string[] =>
    sessionWorkload(40, seed).conversations.flatMap(({ turns }) =>
      turns.map(({ body }) => JSON.stringify(body([]))),
    )
  expect(bodies(1)).toEqual(bodies(1))
  expect(bodies(1)).not.toEqual(bodies(2))
  const { conversations } = sessionWorkload(40, 1)
  const lengths = conversations.map(({ turns }) => turns.length)
  for (let length = 3; length <= 12; length++)
    expect(lengths.filter((each) => each === length)).toHaveLength(4)
  const systems = conversations.map(
    ({ turns: [first] }) => JSON.stringify(first!.body([])).split('"role":"user"')[0],
  )
  expect(new Set(systems).size).toBe(8)
})

test('rows of the trace become prompts that share what the rows share', async () => {
  expect(readTrace(carriedRows)).toHaveLength(500)
  const rows = readTrace(60)
  const workload = traceWorkload(rows)
  const { promptTokens, cachedTokens } = await ceilingOf(workload)
  expect(promptTokens).toBe(rows.reduce((sum, { input_length: length }) => sum + length, 0))
  // By the ids alone: whole trace blocks, and of a shared partial one what is shared of it in blocks of 64.
  const seen = new Map<number, number>()
  let expected = 0
  for (const { input_length: length, hash_ids: ids } of rows) {
    const known = ids.findIndex((id) => !seen.has(id))
    const whole = known < 0 ? ids.length : known
    const shared = ids
      .slice(0, whole)
      .reduce((sum, id, at) => sum + Math.min(seen.get(id)!, length - 512 * at), 0)
    expected += 64 * Math.min(Math.floor(shared / 64), Math.floor((length - 1) / 64))
    ids.forEach((id, at) => seen.set(id, Math.max(seen.get(id) ?? 0, Math.min(512, length - 512 * at))))
  }
  expect(cachedTokens).toBe(expected)
  expect(expected).toBeGreaterThan(0)
  expect(workload.conversations.map(({ startMs }) => startMs)).toEqual(rows.map(({ timestamp }) => timestamp))
})

test('what is measured of answers, and what of it is reached', () => {
  const answer = (workerId: string, cachedTokens: number, firstTokenMs: number) =>
    ({ workerId, cachedTokens, firstTokenMs, promptTokens: 100, text: '' }) as const
  const played = [[answer('a', 0, 1), answer('a', 90, 2), answer('b', 30, 9)], [answer('b', 60, 4)]]
  const ceiling = { promptTokens: 400, cachedTokens: 240, distinctBlocks: 10 }
  const policy = demoPolicies.find(({ name }) => name === 'default')!
  const rates = { blockWeightedRate: 0.45, requestWeightedRate: 0.4 }
  const measured = measure(policy, played, rates, ceiling, 3)
  expect(measured).toEqual({
    policy: 'default',
    requests: 4,
    hitRate: 0.45,
    ofCeiling: 0.75,
    ...rates,
    firstTokenP50Ms: 2,
    firstTokenP95Ms: 9,
    movedTurns: 1,
    resumedTurns: 2,
    busiestByMean: 1.5,
  })
  const comparison = { policies: [measured] } as unknown as Comparison
  expect(reachOf(comparison).map(({ isReached }) => isReached)).toEqual([false, false, true])
  expect(() => measure(policy, played, rates, { ...ceiling, promptTokens: 401 }, 3)).toThrow(/other prompts/u)
})
