import { describe, expect, test } from 'vitest'
import { carried, carriedLine, faultOf, runFile } from './support.js'

const files = [
  'chwbl',
  'dualmap',
  'jsew',
  'learned-choice',
  'llm-d',
  'lmetric',
  'ramjet',
  'rust-queue',
  'rust-replay',
  'service-sessions',
  'sticky',
  'thunderagent',
  'two-tier',
]

describe('lines that nothing evaluates yet', () => {
  test.each(files)('%s: no line passes with a field that the shape does not have', (name) => {
    const lines = carried(`${name}.jsonl`).trimEnd().split('\n')
    const report = runFile(`${name}.jsonl`, lines.map((line) => line.replace('{', '{"extra":1,')).join('\n'))
    expect(report).toMatchObject({ passed: 0, failed: lines.length, notCovered: [] })
    expect(report.failures.filter(({ fault }) => fault !== "unknown field 'extra'")).toEqual([])
  })

  test.each(files)('%s: every line needs what it expects', (name) => {
    const lines = carried(`${name}.jsonl`).trimEnd().split('\n')
    const without = lines.map((line) => {
      const { steps: _steps, expect: _expect, accepted: _accepted, ...others } = JSON.parse(line)
      if (others.kind === 'class-resolution') delete others.rows
      return JSON.stringify(others)
    })
    const report = runFile(`${name}.jsonl`, without.join('\n'))
    expect({ failed: report.failed, notCovered: report.notCovered }).toEqual({
      failed: lines.length,
      notCovered: [],
    })
  })

  test('rust-policies: no line with a field that the shape does not have', () => {
    const lines = carried('rust-policies.jsonl').trimEnd().split('\n')
    const altered = lines.map((line) => line.replace('{', '{"extra":1,')).join('\n')
    expect(runFile('rust-policies.jsonl', altered)).toMatchObject({
      passed: 0,
      failed: lines.length,
      notCovered: [],
    })
  })

  test.each(['drr', 'rust-session'])('%s: neither', (name) => {
    const text = carried(`${name}.json`)
    expect(faultOf(runFile(`${name}.json`, text.replace('{', '{"extra":1,')))).toBe("unknown field 'extra'")
    expect(faultOf(runFile(`${name}.json`, text.replace('"conventions"', '"convention"')))).toMatch(
      /'conventions' is missing|^unknown shape/,
    )
  })

  test.each([
    ['{"kind":"policy-queue"}', /'workers' is missing/],
    ['{"kind":"classifier","policy":"thunderagent"}', /'params' is missing; field 'steps' is missing/],
    ['{"policy":"chwbl"}', /'rows' is missing/],
    ['{"policy":"thunderagent","kind":"selector"}', /'rows' is missing/],
    ['{"kind":"admission"}', /'ranks' is missing/],
    ['{"id":"x","service":"router","steps":[{}],"about":"x"}', /^service: /],
  ])('%s', (line, fault) => {
    expect(faultOf(runFile('mine.jsonl', line))).toMatch(fault)
  })

  test('under the name of rust-policies the kind must be known', () => {
    const line = carriedLine('rust-policies.jsonl').replace('{', '{"kind":"other",')
    expect(faultOf(runFile('rust-policies.jsonl', line))).toMatch(/^unknown shape: kind 'other'/)
  })
})

describe('which policies a line about parameters may name', () => {
  const parameters = (policy: string, more = ''): string =>
    `{"kind":"parameters","policy":"${policy}"${more},"params":{"seed":-1},"valid":false}`

  test('the built-in one', () => {
    expect(runFile('mine.jsonl', parameters('default'))).toMatchObject({ passed: 1, failed: 0 })
    const line = carriedLine('default-cost.jsonl').replace('"dynamo-default-cost-fn"', '"default"')
    expect(line).toContain('"default"')
    expect(runFile('mine.jsonl', line)).toMatchObject({ passed: 1, failed: 0 })
  })

  test('nobody knows', () => {
    expect(faultOf(runFile('mine.jsonl', parameters('nope')))).toBe(
      "unknown shape: no policy 'nope' is known",
    )
    const component = ',"component":"classifier"'
    expect(faultOf(runFile('mine.jsonl', parameters('default', component)))).toMatch(
      /no classifier 'default'/,
    )
  })
})

describe('lines as text', () => {
  const line = '{"kind":"next","seed":"0","values":["11116517241604665558"]}'

  test.each([
    ['another value', line.replace('"seed":"0"', '"seed":"0","seed":"1"')],
    ['the same value', line.replace('"seed":"0"', '"seed":"0","seed":"0"')],
    ['another spelling', line.replace('"seed":"0"', String.raw`"seed":"0","s\u0065ed":"0"`)],
  ])('a key that stands twice with %s', (_, text) => {
    expect(faultOf(runFile('rng.jsonl', text))).toBe("not JSON: key 'seed' stands twice in one object")
  })

  test('a key that stands twice inside, and the same key in two objects', () => {
    const inside = carriedLine('default-cost.jsonl').replace('"rows":[{', '"rows":[{"dpRank":0,')
    expect(faultOf(runFile('default-cost.jsonl', inside))).toMatch(/'dpRank' stands twice/)
    expect(
      runFile('rng.jsonl', line.replace('{', String.raw`{"note":"{\"kind\": \"a\", \\",`)),
    ).toMatchObject({ passed: 1, failed: 0 })
  })

  test('lines that end as on Windows', () => {
    expect(runFile('rng.jsonl', carried('rng.jsonl').replaceAll('\n', '\r\n'))).toMatchObject({
      passed: 26,
      failed: 0,
    })
  })

  test.each(['\n', '\r\n'])('a blank line is named, %j', (end) => {
    expect(runFile('rng.jsonl', [line, '', line, ' ', ''].join(end)).failures).toEqual([
      { name: 'line 2', fault: 'not JSON: the line is blank', mismatches: [] },
      { name: 'line 4', fault: 'not JSON: the line is blank', mismatches: [] },
    ])
  })
})
