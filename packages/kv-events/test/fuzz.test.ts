import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BothReaders } from './support/both-readers.js'
import { anyPayload, batchPayload, damagedPayload } from './support/payloads.js'

// `npm run fuzz` runs a million of these.

describe('whatever the bytes, both readers agree, nothing is thrown, and only the named rank is touched', () => {
  test.each([
    ['batches', batchPayload, 1500],
    ['damaged batches', damagedPayload, 2000],
    ['anything', anyPayload, 1500],
    ['noise', fc.uint8Array({ maxLength: 200 }), 1000],
  ])('%s', (_, payload, numRuns) => {
    const sources = new BothReaders()
    fc.assert(
      fc.property(payload, (bytes) => {
        sources.feed(bytes)
      }),
      { numRuns, seed: 1 },
    )
    if (payload !== batchPayload) return
    expect(sources.batches).toBeGreaterThan(numRuns / 2)
    expect(sources.events).toBeGreaterThan(numRuns)
  })
})

test('generated batches reach every outcome', () => {
  const sources = new BothReaders()
  const seen = new Set<string>()
  for (const payload of fc.sample(batchPayload, { numRuns: 3000, seed: 2 })) {
    for (const event of sources.feed(payload) ?? [])
      seen.add(
        event.type === 'dropped'
          ? event.reason
          : event.type === 'stored'
            ? `stored ${event.tier}`
            : event.type,
      )
  }
  expect([...seen].toSorted()).toEqual(
    expect.arrayContaining([
      'ambiguous_cache_namespace',
      'bad_hash',
      'block_size_mismatch',
      'cleared',
      'ignored_event',
      'missing_field:token_ids',
      'non_local_locality',
      'non_main_attention_group',
      'non_main_attention_kind',
      'parent_is_own_block',
      'removed',
      'repeated_hash',
      'stored device',
      'stored disk',
      'stored external',
      'stored host_pinned',
      'unknown_kind',
      'unknown_medium',
      'unknown_ownership',
      'unlearned_group_idx',
      'unsupported_ownership',
    ]),
  )
})
