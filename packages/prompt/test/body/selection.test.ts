import { BlockHasher, hashAt, hashesOf } from '@router/kv-index'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BodyReader } from '../../src/body/body-reader.js'
import { readSignedHash } from '../../src/body/signed-hash.js'
import { encode, errorOf } from './support.js'

const reader = new BodyReader(new BlockHasher())
const read = (body: string) => reader.read('selection', encode(body))
const detailsOf = (body: string) => {
  const { code, details } = errorOf(() => read(body))
  return [code, details['key'], details['value']]
}

describe('the prompt of a selection, by rank of its forms', () => {
  it('mm_routing_info with tokens, and its own objects', () => {
    const reading = read(`{
      "mm_routing_info": {
        "routing_token_ids": [1, 2, 3],
        "block_mm_infos": [null, {"mm_objects": [{"mm_hash": 18446744073709551615, "offsets": [[0, 2]]}, {"mm_hash": 7, "offsets": []}]}, {}]
      },
      "token_ids": [9], "block_mm_infos": [{"mm_objects": [{"mm_hash": 1, "offsets": []}]}]
    }`)
    expect(reading).toMatchObject({ route: 'tokens', allTokens: 3, prompts: 1, decodes: 1 })
    expect(reading.tokens).toEqual(Uint32Array.of(1, 2, 3))
    expect(reading.objectsByBlock).toEqual([[], [18_446_744_073_709_551_615n, 7n], []])
  })

  it('token_ids, where mm_routing_info has no tokens; an empty list is a prompt of no tokens', () => {
    const reading = read(
      '{"mm_routing_info":{"routing_token_ids":[]},"token_ids":[9,8],"block_mm_infos":[null]}',
    )
    expect(reading.tokens).toEqual(Uint32Array.of(9, 8))
    expect(reading.objectsByBlock).toEqual([[]])
    expect(read('{"token_ids":[]}')).toMatchObject({
      route: 'tokens',
      allTokens: 0,
      objectsByBlock: undefined,
    })
  })

  it('hashes: 64 bits are exact, signed ones keep their bits', () => {
    const reading = read(
      '{"token_ids":null,"block_hashes":[-3803038269031200164,9223372036854775807],"sequence_hashes":[-9223372036854775808,9007199254740993],"isl_tokens":40}',
    )
    expect(reading).toMatchObject({ route: 'hashes', tokens: undefined, allTokens: undefined })
    const { local, sequence, promptTokens } = reading.hashes!
    expect(hashesOf(local)).toEqual([14_643_705_804_678_351_452n, 9_223_372_036_854_775_807n])
    expect(hashesOf(sequence)).toEqual([9_223_372_036_854_775_808n, 9_007_199_254_740_993n])
    expect(promptTokens).toBe(40)
  })

  it('small hashes, and none at all', () => {
    const { hashes } = read('{"block_hashes":[5,6],"sequence_hashes":[7,8],"isl_tokens":8}')
    expect([hashesOf(hashes!.local), hashesOf(hashes!.sequence)]).toEqual([
      [5n, 6n],
      [7n, 8n],
    ])
    expect(read('{"block_hashes":[],"sequence_hashes":[],"isl_tokens":3}').hashes?.promptTokens).toBe(3)
  })

  it('sequence hashes alone, which suffice for a reservation, also of no tokens', () => {
    const { hashes, route } = read('{"sequence_hashes":[-1],"isl_tokens":0}')
    expect([route, hashes?.local.length, hashesOf(hashes!.sequence), hashes?.promptTokens]).toEqual([
      'hashes',
      0,
      [0xffff_ffff_ffff_ffffn],
      0,
    ])
  })

  it('nothing, where there is none', () => {
    expect(read('{"selection_id":"x","isl_tokens":5,"messages":[]}')).toMatchObject({
      route: 'nothing',
      hashes: undefined,
    })
  })

  it('what goes with it', () => {
    expect(
      read('{"token_ids":[1],"model_name":"m","lora_name":"l","cache_salt":"s","is_eagle":true}'),
    ).toMatchObject({
      model: 'm',
      loraName: 'l',
      cacheSalt: 's',
      isEagle: true,
    })
    expect(read('{"model_name":null,"lora_name":"","cache_salt":"","is_eagle":null}')).toMatchObject({
      model: undefined,
      loraName: undefined,
      cacheSalt: undefined,
      isEagle: undefined,
    })
    expect(read('{"is_eagle":false}').isEagle).toBe(false)
  })

  it('forms of lower rank are not looked at', () => {
    const junk = '"block_hashes":["x"],"sequence_hashes":5,"isl_tokens":-1'
    expect(read(`{"token_ids":[1],${junk}}`).route).toBe('tokens')
    expect(read(`{"mm_routing_info":{"routing_token_ids":[1]},"token_ids":"x",${junk}}`).route).toBe('tokens')
  })
})

it('a hash is exact in all its bits', () => {
  const out = new Uint32Array(2)
  const read = (text: string) => readSignedHash(encode(text), 0, text.length, out, 0)
  const edges = [
    0n,
    1n,
    9_999_999_999n,
    10_000_000_000n,
    (1n << 32n) - 1n,
    1n << 32n,
    (1n << 53n) + 1n,
    (1n << 63n) - 1n,
  ]
  const hash = fc.oneof(
    fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }),
    fc.constantFrom(...edges, ...edges.map((edge) => -edge)),
  )
  fc.assert(
    fc.property(hash, (value) => {
      expect(read(`${value}`)).toBe(true)
      expect(hashAt(out, 0)).toBe(BigInt.asUintN(64, value))
    }),
    { seed: 9, numRuns: 1000 },
  )
  expect([read('-9223372036854775808'), hashAt(out, 0)]).toEqual([true, 1n << 63n])
  for (const text of [
    '9223372036854775808',
    '-9223372036854775809',
    '9999999999999999999',
    '18446744073709551616',
    '1.0',
    '1e3',
    '-0.5',
    '-0',
  ])
    expect(read(text), text).toBe(false)
})

it('hashes and objects that cannot be are refused by name', () => {
  const hashes = (blocks: string, chained: string, isl: string) =>
    detailsOf(`{"block_hashes":${blocks},"sequence_hashes":${chained},"isl_tokens":${isl}}`)
  const invalid = 'PROMPT_HASHES_INVALID'
  expect(hashes('["1"]', '[1]', '4')).toEqual([invalid, 'block_hashes[0]', '"1"'])
  expect(hashes('[9223372036854775808]', '[1]', '4')).toEqual([
    invalid,
    'block_hashes[0]',
    '9223372036854775808',
  ])
  expect(hashes('[1]', '[-9223372036854775809]', '4')).toEqual([
    invalid,
    'sequence_hashes[0]',
    '-9223372036854775809',
  ])
  expect(hashes('[1,2.0]', '[1,1]', '4')).toEqual([invalid, 'block_hashes[1]', '2.0'])
  expect(hashes('[1,1e3]', '[1,1]', '4')).toEqual([invalid, 'block_hashes[1]', '1e3'])
  expect(hashes('[1,2]', '[1]', '4')).toEqual([invalid, 'sequence_hashes', '1 hashes'])
  expect(hashes('7', '[1]', '4')).toEqual([invalid, 'block_hashes', '7'])
  expect(hashes('[1]', 'null', '4')).toEqual([invalid, 'sequence_hashes', undefined])
  expect(hashes('[1]', '[1]', '0')).toEqual([invalid, 'isl_tokens', '0'])
  expect(hashes('[1]', '[1]', '4294967296')).toEqual([invalid, 'isl_tokens', '4294967296'])
  expect(hashes('[1]', '[1]', 'null')).toEqual([invalid, 'isl_tokens', undefined])
  const objects = (infos: string) => detailsOf(`{"token_ids":[1],"block_mm_infos":${infos}}`)
  expect(objects('5')).toEqual([invalid, 'block_mm_infos', '5'])
  expect(objects('[{"mm_objects":[{"mm_hash":-1}]}]')).toEqual([invalid, 'mm_hash', '-1'])
  expect(objects('[{"mm_objects":[{"mm_hash":18446744073709551616}]}]')).toEqual([
    invalid,
    'mm_hash',
    '18446744073709551616',
  ])
  expect(objects('[{"mm_objects":[{"offsets":[]}]}]')).toEqual([invalid, 'mm_hash', '{"offsets":[]}'])
})
