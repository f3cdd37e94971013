import { BlockHasher, sessionIdOfPrefix } from '@router/kv-index'
import { describe, expect, test } from 'vitest'
import { readDocument } from '../src/data.js'
import { runLines } from '../src/runner/run.js'
import type { HashingDocument } from '../src/shapes/hashing.js'
import { leavesOf, withLeaf } from './altered-line.js'
import { faultOf, runFile } from './support.js'

const whole = readDocument('hashing') as HashingDocument
type Path = (string | number)[]

/** The document with nothing in its lists but what is given. */
function only(lists: object): HashingDocument {
  const empty = Object.entries(whole).map(([key, value]) => [key, Array.isArray(value) ? [] : value])
  return { ...Object.fromEntries(empty), ...lists } as HashingDocument
}

const run = (document: object) =>
  runLines('hashing', [{ number: 1, value: document as Record<string, unknown> }])
const outcome = (document: object): [number, number] => [run(document).passed, run(document).failed]

/** Expected values by list. */
const expected: Readonly<Record<string, readonly string[]>> = {
  xxh3_64: ['hash'],
  request_seed: ['seed'],
  cases: ['seed', 'block_count', 'local', 'sequence', 'sequence_signed'],
  long: ['blocks', 'first', 'last', 'sha256_of_sequence_le64'],
  mm_identifier: ['hash', 'pad_value'],
  routing_tokens: ['result'],
  mm_ranges: ['objects_by_block', 'local'],
  session_from_prefix: ['session_id'],
  signed: ['u64', 'i64'],
}

/** Another value of the same kind. */
function other(leaf: unknown): unknown {
  if (leaf === null) return '1'
  if (typeof leaf === 'number') return leaf + 1
  if (typeof leaf === 'boolean') return !leaf
  const text = leaf as string
  if (/^-?\d+$/.test(text)) return String(BigInt(text) ^ 1n)
  return `${text.slice(0, -1)}${text.endsWith('0') ? '1' : '0'}`
}

type Entries = readonly Readonly<Record<string, unknown>>[]
const entriesOf = (key: string): Entries => whole[key as keyof HashingDocument] as unknown as Entries

test('an empty document passes, each list alone passes', () => {
  expect(outcome(only({}))).toEqual([1, 0])
  for (const key of Object.keys(expected)) expect(outcome(only({ [key]: entriesOf(key) }))).toEqual([1, 0])
})

describe('one altered value fails the document', () => {
  test.each(Object.keys(expected))('%s', (key) => {
    let count = 0
    for (const entry of entriesOf(key).slice(0, 30)) {
      const leaves = leavesOf(entry).filter(([field]) => expected[key]!.includes(field as string))
      for (const path of leaves.slice(0, 12)) {
        const altered = withLeaf(entry, path, (leaf) => {
          return leaf === null && path[0] === 'pad_value' ? 1 : other(leaf)
        })
        expect(outcome(only({ [key]: [altered] })), `${path.join('.')} of ${JSON.stringify(entry)}`).toEqual([
          0, 1,
        ])
        count++
      }
    }
    expect(count).toBeGreaterThan(3)
  })

  test.each<[string, Path]>([
    ['the secret', ['xxh3_default_secret_hex']],
    ['the seed of blocks', ['conventions', 'block_seed']],
    ['the seed of the chain', ['conventions', 'chain_seed']],
  ])('%s', (_what, path) => {
    expect(outcome(withLeaf(only({}), path, other) as object)).toEqual([0, 1])
  })

  test('a value too many or too few', () => {
    const [entry] = whole.cases
    for (const field of ['local', 'sequence', 'sequence_signed'] as const) {
      const values = entry![field]
      expect(outcome(only({ cases: [{ ...entry, [field]: [...values, '1'] }] }))).toEqual([0, 1])
      expect(outcome(only({ cases: [{ ...entry, [field]: values.slice(1) }] }))).toEqual([0, 1])
    }
    const ranges = whole.mm_ranges[0]!
    expect(outcome(only({ mm_ranges: [{ ...ranges, objects_by_block: [] }] }))).toEqual([0, 1])
    const routing = whole.routing_tokens[0]!
    expect(outcome(only({ routing_tokens: [{ ...routing, result: [] }] }))).toEqual([0, 1])
  })

  test('and says which, and with which kernel', () => {
    const altered = withLeaf(whole, ['cases', 6, 'local', 1], other)
    const [failure] = run(altered as object).failures
    expect(failure?.mismatches).toHaveLength(1)
    expect(failure?.mismatches[0]?.what).toBe('local[1] (WebAssembly kernel, cases[6] lora)')
    expect(failure?.mismatches[0]?.actual).toMatch(/^5698110331184095209 \(0x/)
  })
})

describe('a value that is given is used', () => {
  test.each<[string, Path]>([
    ['xxh3_64', ['input', 'length']],
    ['xxh3_64', ['seed']],
    ['request_seed', ['lora_name']],
    ['request_seed', ['cache_salt']],
    ['cases', ['block_size']],
    ['cases', ['tokens', 0]],
    ['cases', ['lora_name']],
    ['cases', ['cache_salt']],
    ['cases', ['eagle']],
    ['cases', ['mm_object_hashes_by_block', 0, 0]],
    ['long', ['block_size']],
    ['mm_identifier', ['identifier']],
    ['routing_tokens', ['image_token']],
    ['routing_tokens', ['tokens', 0]],
    ['routing_tokens', ['mm_hashes', 0]],
    ['mm_ranges', ['block_size']],
    ['mm_ranges', ['objects', 0, 'hash']],
    ['mm_ranges', ['objects', 0, 'ranges', 0, 1]],
    ['session_from_prefix', ['tokens', 0]],
    ['session_from_prefix', ['prefix_tokens']],
    ['session_from_prefix', ['cache_salt']],
  ])('%s %j', (key, path) => {
    const altered = entriesOf(key)
      .filter((entry) => leavesOf(entry).some((leaf) => leaf.join() === path.join()))
      .map((entry) => withLeaf(entry, path, (leaf) => (leaf === null ? 'x' : other(leaf))))
    expect(altered.length).toBeGreaterThan(0)
    expect(altered.some((entry) => outcome(only({ [key]: [entry] }))[1] === 1)).toBe(true)
  })

  test('patterns with other factors', () => {
    const input = { pattern: 'byte[i] = (1*i + 0) mod 256', length: 3 }
    expect(outcome(only({ xxh3_64: [{ input, seed: '0', hash: '1' }] }))).toEqual([0, 1])
    const utf8 = { input: { utf8: '\u0000\u0001\u0002' }, seed: '0', hash: '1' }
    const hashOf = (entry: object) => run(only({ xxh3_64: [entry] })).failures[0]?.mismatches[0]?.actual
    expect(hashOf({ input, seed: '0', hash: '1' })).toBe(hashOf(utf8))
  })

  test('long prompts without a block', () => {
    const long = {
      tokens: 'token[i] = (7 * i) mod 2^32',
      count: 3,
      block_size: 4,
      blocks: 0,
      first: null,
      last: null,
      sha256_of_sequence_le64: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    }
    expect(outcome(only({ long: [long] }))).toEqual([1, 0])
    expect(outcome(only({ long: [{ ...long, count: 4 }] }))).toEqual([0, 1])
  })
})

describe('what no case can be is a fault of the document', () => {
  test.each<[Path, unknown, RegExp]>([
    [['more'], 1, /^unknown field 'more'$/],
    [['cases', 0, 'more'], 1, /^unknown field 'cases\.0\.more'$/],
    [['xxh3_64', 0, 'input', 'more'], 1, /more/],
    [['mm_ranges', 0, 'objects', 0, 'more'], 1, /'mm_ranges\.0\.objects\.0\.more'/],
    [['xxh3_64', 0, 'seed'], '18446744073709551616', /^xxh3_64\.0\.seed: expected a u64/],
    [['xxh3_64', 0, 'input'], { pattern: 'random', length: 1 }, /^xxh3_64\.0\.input/],
    [['xxh3_64', 0, 'input', 'length'], 16_777_217, /at most 16777216/],
    [['long', 0, 'count'], 4_000_000_000, /^long\.0\.count: expected at most/],
    [['long', 0, 'block_size'], 0, /^long\.0\.block_size/],
    [['cases', 0, 'block_size'], 0, /^cases\.0\.block_size/],
    [['cases', 0, 'tokens', 0], 4_294_967_296, /^cases\.0\.tokens\.0/],
    [['cases', 0, 'tokens', 0], -1, /^cases\.0\.tokens\.0/],
    [['cases', 0, 'sequence_signed', 0], '9223372036854775808', /an i64/],
    [['cases', 0, 'mm_object_hashes_by_block'], [[7]], /^cases\.0\.mm_object_hashes_by_block\.0\.0/],
    [['mm_ranges', 0, 'objects', 0, 'ranges', 0, 0], -1, /^mm_ranges\.0\.objects\.0\.ranges\.0\.0/],
    [['session_from_prefix', 0, 'prefix_tokens'], 0, /^session_from_prefix\.0\.prefix_tokens/],
    [['signed', 0, 'i64'], '-9223372036854775809', /an i64/],
    [['conventions', 'block_seed'], 1337, /^conventions\.block_seed/],
    [['xxh3_default_secret_hex'], 'b8', /192 bytes/],
    [['cases'], Array.from({ length: 65_537 }, () => 0), /at most 65536 entries/],
  ])('%j = %j', (path, value, fault) => {
    const report = runFile('hashing.json', JSON.stringify(withLeaf(whole, path, () => value)))
    expect(report).toMatchObject({ passed: 0, failed: 1, notCovered: [] })
    expect(faultOf(report)).toMatch(fault)
    expect(faultOf(report)).not.toMatch(/threw/)
  })

  test.each(Object.keys(whole))('%s missing', (key) => {
    const { [key as keyof HashingDocument]: _gone, ...rest } = whole
    const report = runFile('hashing.json', JSON.stringify(rest))
    expect(report).toMatchObject({ passed: 0, failed: 1, notCovered: [] })
    expect(faultOf(report)).toContain(`'${key}'`)
  })
})

/** The session ids that the released router derives, of another file that still waits. */
test('the derived session ids of rust-session.json', () => {
  interface Derived {
    readonly seed: number
    readonly length: number
    readonly prefixTokens: number
    readonly lora: string | null
    readonly salt: string | null
    readonly sessionId: string | null
  }
  const { sessionFromPrefix } = readDocument('rust-session') as {
    readonly sessionFromPrefix: readonly Derived[]
  }
  const hasher = new BlockHasher()
  for (const { seed, length, prefixTokens, lora, salt, sessionId } of sessionFromPrefix) {
    const tokens = Uint32Array.from(
      { length },
      (_, index) => (seed + Math.imul(2_654_435_761, index)) & 0x1ffff,
    )
    const derived = sessionIdOfPrefix(hasher, tokens, prefixTokens, { loraName: lora, cacheSalt: salt })
    expect(derived ?? null).toBe(sessionId)
  }
  expect(sessionFromPrefix.length).toBeGreaterThan(10)
})
