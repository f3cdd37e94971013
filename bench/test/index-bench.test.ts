import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { OverlapRows, hashesOf } from '@router/kv-index'
import { describe, expect, it } from 'vitest'
import { blocksFrom, emptyRun, pointRun, shuffled } from '../src/index/blocks.js'
import { createIndex } from '../src/index/subject.js'
import { countOperations, playTrace, readTrace, replay } from '../src/index/trace.js'

const name = 'mooncake_fast25_conversation.jsonl.gz'
const carried = fileURLToPath(new URL(`../data/${name}`, import.meta.url))
const source = fileURLToPath(new URL(`../../../shared/traces/${name}`, import.meta.url))

describe('the carried trace', () => {
  it.skipIf(!existsSync(source))('is the same file as the one beside the specification', () => {
    expect(readFileSync(carried).equals(readFileSync(source))).toBe(true)
  })

  it('is what its README says', () => {
    const readme = readFileSync(new URL('../data/README.md', import.meta.url), 'utf8')
    const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
    expect(readme).toContain(sha256(readFileSync(carried)))
    expect(readme).toContain(sha256(gunzipSync(readFileSync(carried))))
    const requests = readTrace()
    expect(requests).toHaveLength(12_031)
    expect(new Set(requests.flatMap(({ hash_ids }) => hash_ids)).size).toBe(182_790)
    expect(requests.reduce((sum, { hash_ids }) => sum + hash_ids.length, 0)).toBe(288_500)
  })
})

describe('blocks of the index bench', () => {
  it('have different hashes, of which the words follow from the number', () => {
    const { engine, local } = blocksFrom(0, 10_000)
    expect(new Set(hashesOf(engine)).size).toBe(10_000)
    expect(new Set(hashesOf(local)).size).toBe(10_000)
    expect(blocksFrom(40, 3)).toEqual({ engine: engine.slice(80, 86), local: local.slice(80, 86) })
  })

  it('are pointed at with the block before', () => {
    const blocks = blocksFrom(0, 8)
    const run = emptyRun(blocks)
    pointRun(run, 4, 2, 3)
    expect(run).toMatchObject({ start: 4, count: 2, hasParent: true })
    expect([run.parentLow, run.parentHigh]).toEqual([blocks.engine[6], blocks.engine[7]])
    expect(pointRun(run, 0, 2, -1).hasParent).toBe(false)
  })

  it('are taken in an order that holds every number once', () => {
    const order = shuffled(1000)
    expect(order.toSorted()).toEqual(Int32Array.from({ length: 1000 }, (_, number) => number))
    expect(order.filter((number, place) => number === place).length).toBeLessThan(20)
  })
})

describe('playing the trace', () => {
  const request = (tokens: number, ...hash_ids: number[]) => ({ input_length: tokens, hash_ids })

  it('looks up complete blocks and stores those that the rank does not hold', () => {
    const turns = playTrace([request(1300, 0, 1, 2), request(1536, 0, 1, 3)], {
      blockSize: 512,
      ranks: 2,
      capacityBlocks: 10,
    })
    expect(turns.map(({ count, rank, heldBlocks }) => ({ count, rank, heldBlocks }))).toEqual([
      { count: 2, rank: 0, heldBlocks: 0 },
      { count: 3, rank: 0, heldBlocks: 2 },
    ])
    const [first, second] = turns
    expect(second!.local.slice(0, 4)).toEqual(first!.local)
    expect(countOperations(turns)).toEqual({ lookedUp: 5, stored: 3, removed: 0 })
  })

  it('goes to the next rank in turn when no rank holds half of the prompt', () => {
    const turns = playTrace(
      [request(1024, 0, 1), request(1536, 0, 2, 3), request(1536, 0, 4, 5), request(1536, 0, 2, 6)],
      { blockSize: 512, ranks: 2, capacityBlocks: 10 },
    )
    expect(turns.map(({ rank }) => rank)).toEqual([0, 1, 0, 1])
  })

  it('evicts what was used longest ago, the end of a prompt first', () => {
    const requests = [request(1536, 0, 1, 2), request(512, 7), request(1024, 0, 1), request(1536, 8, 9, 10)]
    const turns = playTrace(requests, { blockSize: 512, ranks: 1, capacityBlocks: 4 })
    const engineHashes = (...ids: number[]): bigint[] =>
      ids.flatMap((id) => hashesOf(blocksFrom(id, 1).engine))
    expect(turns.map(({ evicted }) => hashesOf(evicted))).toEqual([[], [], [], engineHashes(2, 7, 1)])
  })

  it('splits blocks into smaller ones', () => {
    const [turn] = playTrace([request(700, 4, 9)], { blockSize: 256, ranks: 1, capacityBlocks: 10 })
    expect(turn!.local).toEqual(blocksFrom(8, 2).local)
  })

  it('leaves an index with what the ranks hold', () => {
    const options = { blockSize: 512, ranks: 4, capacityBlocks: 256 }
    const turns = playTrace(readTrace().slice(0, 400), options)
    const { stored, removed } = countOperations(turns)
    expect(removed).toBeGreaterThan(1000)
    const index = createIndex()
    const target = new OverlapRows(options.ranks)
    expect(replay(index, turns, emptyRun(blocksFrom(0, 0)), target)).toBe(0)
    expect(index.currentSize).toBe(stored - removed)
    const last = turns.at(-1)!
    index.lookup(last.local, last.count, target)
    expect(target.deviceBlocks[last.rank]).toBe(last.count)
  })
})
