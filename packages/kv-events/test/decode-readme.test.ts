import { beforeAll, describe, expect, test } from 'vitest'
import readme from '../README.md?raw'
import { batch, cleared, removed, stored } from './support/events.js'

interface Example {
  readonly drops: Readonly<Record<string, number>>
  readonly apply: (payload: Uint8Array) => boolean
  readonly blocksOf: (dpRank: number) => number
}

const fixtures = import.meta.glob(['./fixtures/*.js'], { query: '?raw', import: 'default', eager: true })

test.each(Object.entries(fixtures))('the README shows the example %s as it runs here', (_file, text) => {
  expect(readme).toContain(`\`\`\`js\n${text}\`\`\`\n`)
})

describe('the example of reading', () => {
  let example: Example
  beforeAll(async () => {
    // @ts-expect-error -- plain JavaScript, as an embedder would save it
    example = (await import('./fixtures/read-payload.js')) as Example
  })
  const tokens = Array.from({ length: 32 }, (_, index) => index)
  const store = stored({ hashes: [1, 2], tokens, blockSize: 16 })

  test('payloads reach the index, rank by rank', () => {
    expect(example.apply(batch([store], 0))).toBe(true)
    expect(example.apply(batch([store], 3))).toBe(true)
    expect(example.apply(batch([removed([2])], 3))).toBe(true)
    expect([example.blocksOf(0), example.blocksOf(3)]).toEqual([2, 1])
    expect(example.apply(batch([cleared], 0))).toBe(true)
    expect([example.blocksOf(0), example.blocksOf(3)]).toEqual([0, 1])
  })

  test('what is dropped is counted, what is no batch changes nothing', () => {
    expect(example.apply(batch([stored({ medium: 'moon' }), ['Renamed']], 3))).toBe(true)
    expect(example.drops).toEqual({ unknown_medium: 1, unknown_tag: 1 })
    expect(example.apply(batch([cleared], 3).subarray(1))).toBe(false)
    expect(example.blocksOf(3)).toBe(1)
  })
})
