import { describe, expect, test } from 'vitest'
import { parseJson } from '../src/json.js'
import { defaultCostLine } from '../src/shapes/default-cost.js'
import { carriedLine, faultOf, runFile } from './support.js'

/** Texts of doubles beyond 2^53: as JavaScript and as Python print them, and one that no double holds. */
const texts = [
  ['2^53 + 2', '9007199254740994'],
  ['2^69', JSON.stringify(2 ** 69)],
  ['1e20 + 12345678', JSON.stringify(1e20 + 12345678)],
  ['odd digits', '9007199254741059'],
  ['2^69 with all digits', '590295810358705651712'],
] as const

const outcome = (name: string, line: string) => {
  const { passed, failures } = runFile(name, line)
  return { passed, failures }
}
const passes = { passed: 1, failures: [] }

describe.each(texts)('a double beyond 2^53: %s', (_, text) => {
  const half = JSON.stringify(Number(text) / 2)

  test('softmax', () => {
    const line = `{"kind":"utility","utilities":[${text},${text}],"temperature":${text},"u":0.5,"weights":[1,1],"target":1,"tolerance":0,"row":1}`
    expect(outcome('softmax.jsonl', line)).toEqual(passes)
    const normalised = `{"kind":"normalised","costs":[${text},${text}],"temperature":${text},"probabilities":[0.5,0.5],"tolerance":${text},"picks":[{"u":0,"row":0}]}`
    expect(outcome('softmax.jsonl', normalised)).toEqual(passes)
  })

  test('selection', () => {
    const line = `{"kind":"sum-of-costs","contributions":[[${text}]],"count":1,"expect":{"totals":[${text}]}}`
    expect(outcome('selection.jsonl', line)).toEqual(passes)
    expect(outcome('selection.jsonl', `{"kind":"round-half-away","input":${text},"expect":${text}}`)).toEqual(
      passes,
    )
    expect(
      outcome('selection.jsonl', `{"kind":"picker-row","row":${text},"count":2,"expect":"InvalidPickerRow"}`),
    ).toEqual(passes)
  })

  test('default-cost, a load and its cost', () => {
    const line =
      `{"label":"decode","plainDecode":true,"params":{"decode_active_request_weight":${text},"seed":"1"},
      "request":{"promptTokens":16,"blockSize":16,"tracksPrefillTokens":false,"hasTierMatches":false,"sharedHits":null},
      "rows":[{"workerId":"1","dpRank":0,"deviceOverlapBlocks":0,"hostOverlapBlocks":0,"diskOverlapBlocks":0,"estimateBlocks":0,
        "estimateTokens":0,"load":{"activePrefillTokens":0,"decodeCostBlocks":${half},"activeRequests":0.5},
        "totalKvBlocks":${text},"taintMultiplier":null,"prefillBacklogMs":${text}}],
      "expect":{"costs":[${text}],"tieSet":["1.0"],"tolerance":0}}`.replaceAll(/\n\s*/g, '')
    const report = runFile('default-cost.jsonl', line)
    expect(report).toMatchObject({ passed: 1, failures: [] })
    expect(defaultCostLine.parse(parseJson(line))).toMatchObject({
      params: { decode_active_request_weight: Number(text) },
      rows: [{ totalKvBlocks: Number(text), prefillBacklogMs: Number(text) }],
      expect: { costs: [Number(text)] },
    })
  })

  test('kv-capacity-aware, a capacity', () => {
    const own = carriedLine('kv-capacity-aware.jsonl')
    const line = own.replaceAll(/"totalKvBlocks":\d+/g, `"totalKvBlocks":${text}`)
    expect(line).not.toBe(own)
    expect(faultOf(runFile('kv-capacity-aware.jsonl', line))).toBeUndefined()
  })

  test('rust-selection and the parity files', () => {
    const selection = carriedLine('rust-selection.jsonl', (line) => line.includes('"costs"'))
    const altered = selection.replace(/"costs":\[[^,\]]*/, `"costs":[${text}`)
    expect(faultOf(runFile('rust-selection.jsonl', altered))).toBeUndefined()
    const costs = carriedLine('parity-costs.jsonl').replace(/"costs":\[[^,]*/, `"costs":[${text}`)
    expect(faultOf(runFile('parity-costs.jsonl', costs))).toBeUndefined()
  })

  test('a seed stays exact, and is not rounded', () => {
    const own = carriedLine('default-cost.jsonl', (line) => line.includes('"params":{}'))
    const line = own.replace('"params":{}', `"params":{"seed":${text}}`)
    const fits = BigInt(text) < 2n ** 64n
    if (fits) {
      expect(outcome('default-cost.jsonl', line)).toEqual(passes)
      expect(defaultCostLine.parse(parseJson(line)).params.seed).toBe(BigInt(text))
    } else {
      expect(faultOf(runFile('default-cost.jsonl', line))).toMatch(/params\.seed/)
    }
    const parameters = `{"kind":"parameters","policy":"dynamo-default-cost-fn","params":{"seed":${text}},"valid":${fits}}`
    expect(outcome('rust-policies.jsonl', parameters)).toEqual(passes)
  })
})

test('a prompt of more tokens than a host takes is a fault of the line', () => {
  const line =
    '{"kind":"request-blocks","promptTokens":9007199254740993,"blockSize":1,"expect":9007199254740993}'
  expect(faultOf(runFile('selection.jsonl', line))).toMatch(/^promptTokens: .*9007199254740993$/)
})

test.each([1, 8_589_934_592])('%i tracking hashes are counted, not made', (trackedHashes) => {
  const line = JSON.stringify({
    kind: 'potential-decode-blocks',
    promptTokens: 16,
    blockSize: 16,
    activeDecodeBlocks: 3,
    additionalActiveBlocks: 0,
    trackedHashes,
    expect: 3,
  })
  expect(faultOf(runFile('selection.jsonl', line))).toBeUndefined()
  const selection = carriedLine('rust-selection.jsonl', (text) => /"trackedHashes":\d/.test(text))
  const altered = selection.replace(/"trackedHashes":\d+/, `"trackedHashes":${trackedHashes}`)
  expect(faultOf(runFile('rust-selection.jsonl', altered))).toBeUndefined()
})

describe('numbers as strings in selection files', () => {
  test.each([
    '{"kind":"round-half-away","input":"-0","expect":"-0"}',
    '{"kind":"round-half-away","input":"NaN","expect":"NaN"}',
    '{"kind":"round-half-away","input":"-Infinity","expect":"-Infinity"}',
    '{"kind":"sum-of-costs","contributions":[["-0"]],"count":1,"expect":{"totals":[0]}}',
    '{"kind":"sum-of-costs","contributions":[["Infinity"]],"count":1,"expect":{"error":"NonFiniteCost","scorerIndex":0,"row":0}}',
    '{"kind":"picker-row","row":"-0","count":1,"expect":"ok"}',
    '{"kind":"picker-row","row":"NaN","count":1,"expect":"InvalidPickerRow"}',
    '{"kind":"taint-multiplier","matchedWeights":["-0"],"expect":1,"tolerance":"-0"}',
    '{"kind":"taint-multiplier","matchedWeights":["NaN"],"expect":"NaN","tolerance":0}',
    '{"kind":"request-blocks","promptTokens":"-0","blockSize":16,"expect":0}',
    '{"kind":"shared-hits-beyond","ranges":[["-0",2]],"position":"-0","expect":2,"total":2}',
    '{"kind":"raw-cached-tokens","deviceOverlapBlocks":1,"hostOverlapBlocks":"-0","diskOverlapBlocks":"-0","blockSize":16,"expect":16}',
  ])('%s', (line) => {
    expect(outcome('selection.jsonl', line)).toEqual(passes)
  })

  test.each([
    '{"kind":"round-half-away","input":"-0","expect":0}',
    '{"kind":"request-blocks","promptTokens":16,"blockSize":16,"expect":"NaN"}',
    '{"kind":"request-blocks","promptTokens":0,"blockSize":16,"expect":"-0"}',
    '{"kind":"sum-of-costs","contributions":[[1]],"count":1,"expect":{"totals":["-0"]}}',
    '{"kind":"picker-row","row":"Infinity","count":1,"expect":"ok"}',
    '{"kind":"picker-row","row":0.5,"count":1,"expect":"ok"}',
  ])('%s is read and differs', (line) => {
    const report = runFile('selection.jsonl', line)
    expect(report.failures[0]?.mismatches.length).toBeGreaterThan(0)
    expect(faultOf(report)).toBeUndefined()
  })

  test('other strings are refused', () => {
    const line = '{"kind":"round-half-away","input":"nan","expect":"toString"}'
    expect(faultOf(runFile('selection.jsonl', line))).toMatch(/input: expected a number.*; expect: /)
  })
})
