import { describe, expect, it } from 'vitest'
import { BlockHashes, TrackingHashes } from '../src/index.js'
import { kernels, someTokens } from './support/hashers.js'

declare const process: { readonly memoryUsage: () => { readonly heapUsed: number } }

const calls = 4000
const batches = 6

/** Bytes per call on the heap: the smallest growth over several batches; one in which the collector ran is left out. */
function bytesPerCall(body: () => unknown): number {
  for (let call = 0; call < 2 * calls; call++) body()
  let least = Infinity
  for (let batch = 0; batch < batches; batch++) {
    const before = process.memoryUsage().heapUsed
    for (let call = 0; call < calls; call++) body()
    const growth = process.memoryUsage().heapUsed - before
    if (growth >= 0 && growth < least) least = growth
  }
  return least / calls
}

const tokens = someTokens(600)
const list = [...tokens]
const options = { blockSize: 16 }
const named = { blockSize: 64, isEagle: true, loraName: 'adapter-a', cacheSalt: 'tenant-1' }

describe.each(kernels)('warm hashing by %s allocates nothing', (_name, hasher) => {
  const target = new BlockHashes()
  const out = new Uint32Array(2)
  const seed = hasher.seedOf('a', 'b')
  const tracking = new TrackingHashes()

  it.each<[string, () => unknown]>([
    ['a prompt', () => hasher.hash(tokens, options, target)],
    ['a prompt as a list', () => hasher.hash(list, options, target)],
    ['long blocks of a LoRA and a salt', () => hasher.hash(tokens, named, target)],
    [
      'a prompt that grows',
      () => {
        target.count = 3
        hasher.extend(tokens, options, target)
      },
    ],
    ['the blocks of a small event', () => hasher.hashLocal(tokens, options, target, 16, 80)],
    ['one block', () => hasher.hashBlock(tokens, 16, options, out, 0)],
    ['a chain', () => hasher.chain(target)],
    ['bytes', () => hasher.hashBytes(bytes, seed, out, 0)],
    ['tracking hashes', () => tracking.setPublic(target)],
  ])('%s', (_what, body) => {
    expect(bytesPerCall(body)).toBeLessThan(8)
  })
})

const bytes = new Uint8Array(32)

it('the method sees an object per call', () => {
  const kept: object[] = []
  expect(bytesPerCall(() => (kept[0] = { a: kept.length }))).toBeGreaterThan(8)
})
