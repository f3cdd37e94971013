import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { afterAll, describe, expect, test } from 'vitest'
import { type FileReport, runVectors } from '../src/runner/run.js'
import { carried, carriedLine, faultOf, runFile } from './support.js'

const folder = mkdtempSync(join(tmpdir(), 'vectors-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** The one fault of a file of one faulty line; the text may not come from the code under test. */
function onlyFault(report: FileReport): string {
  expect(report).toMatchObject({ passed: 0, failed: 1 })
  const fault = faultOf(report)!
  expect(fault).not.toMatch(/threw|\n|^\s+at /)
  return fault
}

/** A carried line with something in it replaced. */
function altered(name: string, part: RegExp, by: string): string {
  const line = carriedLine(name, (text) => part.test(text))
  return line.replace(part, by)
}

describe('texts that should be integers', () => {
  test.each(['x', '', '-1', '01', '1.0', '18446744073709551616', '9'.repeat(21)])('seed "%s"', (seed) => {
    const line = JSON.stringify({ kind: 'next', seed, values: ['1'] })
    expect(onlyFault(runFile('rng.jsonl', line))).toMatch(/^seed: expected a u64/)
  })

  test('many digits are not turned into a number', () => {
    const line = JSON.stringify({ kind: 'next', seed: '1'.repeat(4_000_000), values: ['1'] })
    expect(onlyFault(runFile('rng.jsonl', line))).toMatch(/^seed: expected a u64/)
    const longer = JSON.stringify({ kind: 'next', seed: '1'.repeat(50_000_000), values: ['1'] })
    expect(onlyFault(runFile('rng.jsonl', longer))).toMatch(/^the line is too long/)
  })

  test.each(['x', '1', '1.x', 'x.0', '1.0.0', '1.4294967296', '18446744073709551616.0', '1.'])(
    'row "%s"',
    (name) => {
      const line = altered('default-cost.jsonl', /"tieSet":\["[^"]*"/, `"tieSet":["${name}"`)
      expect(onlyFault(runFile('default-cost.jsonl', line))).toMatch(/^expect\.tieSet\.0: expected a row/)
    },
  )
})

describe('values that only the code under test would refuse', () => {
  test.each(['[[4,6],[1,2]]', '[[0,4],[3,5]]', '[[5,2]]', '[[0,4294967296]]', '[["x",1]]'])(
    'shared hits %s',
    (ranges) => {
      for (const name of ['default-cost.jsonl', 'rust-selection.jsonl']) {
        const line = altered(name, /"sharedHits":(?:null|\[\[.*?\]\])/, `"sharedHits":${ranges}`)
        expect(onlyFault(runFile(name, line))).toMatch(/^request\.sharedHits/)
      }
      const line = `{"kind":"shared-hits-beyond","ranges":${ranges},"position":0,"expect":1,"total":1}`
      expect(onlyFault(runFile('selection.jsonl', line))).toMatch(/^ranges/)
    },
  )

  test.each([
    ['default-cost.jsonl', /"dpRank":\d+/, '"dpRank":4294967295', /^rows\.0\.dpRank/],
    ['default-cost.jsonl', /"hostOverlapBlocks":\d+/, '"hostOverlapBlocks":null', /null together/],
    ['mix-rendezvous.jsonl', /"dpRank":\d+/, '"dpRank":4294967296', /^dpRank/],
    ['parity-sequences.jsonl', /"workers":\d+/, '"workers":1000000', /^workers/],
    ['rng.jsonl', /"kind":"below-u64"(.*)"n":"\d+"/, '"kind":"below-u64"$1"n":"0"', /^n: expected a bound/],
    ['rust-selection.jsonl', /"selections":\d+/, '"selections":1000000000', /^selections/],
    [
      'rust-selection.jsonl',
      /"workers":\[.*\],"rows"/,
      '"workers":[["1",0,4097,[]]],"rows"',
      /^workers\.0\.2/,
    ],
    [
      'rust-selection.jsonl',
      /"workers":\[.*\],"rows"/,
      '"workers":[["1",4294967290,9,[]]],"rows"',
      /within u32/,
    ],
    [
      'rust-selection.jsonl',
      /"workers":\[.*\],"rows"/,
      '"workers":[["1",0,1,[]],["1",1,1,[]]],"rows"',
      /each worker once/,
    ],
    [
      'rust-selection.jsonl',
      /"workers":\[.*\],"rows"/,
      `"workers":${JSON.stringify(Array.from({ length: 17 }, (_, id) => [`${id + 1}`, 0, 4096, []]))},"rows"`,
      /at most 65536 ranks/,
    ],
    ['rust-selection.jsonl', /"preferredTaints":\[.*?\]\}/, '"preferredTaints":[["a",1e300]]}', /32-bit/],
  ])('%s, %s as %s', (name, part, by, message) => {
    const line = altered(name, part, by)
    expect(onlyFault(runFile(name, line))).toMatch(message)
  })

  test('a row that stands twice', () => {
    const line = altered(
      'default-cost.jsonl',
      /"rows":\[(\{.*?\}),\{.*\}\],"expect"/,
      '"rows":[$1,$1],"expect"',
    )
    expect(onlyFault(runFile('default-cost.jsonl', line))).toMatch(/^rows: expected each rank once/)
  })

  test.each([70_000, 500_000, 5_000_000])('%i entries', (entries) => {
    const values = `[${'0,'.repeat(entries - 1)}0]`
    const line = `{"kind":"next","seed":"1","values":${values}}`
    expect(onlyFault(runFile('rng.jsonl', line))).toMatch(/at most 65536 entries/)
  })
})

describe('files that are no JSON', () => {
  test('a damaged document is one fault', () => {
    const report = runFile('drr.json', carried('drr.json').slice(0, -20))
    expect(onlyFault(report)).toMatch(/^not JSON/)
    expect(onlyFault(runFile('cases.txt', '{\n"a":\n}\n'))).toMatch(/^not JSON/)
    expect(onlyFault(runFile('drr.json', '[1,\n2]\n'))).toMatch(/a document is a JSON object/)
  })

  test.each(['rng.jsonl', 'drr.json'])('%s with a byte order mark', (name) => {
    expect(onlyFault(runFile(name, `\uFEFF${carried(name)}`))).toMatch(/starts with a byte order mark/)
  })

  test.each(['rng.jsonl', 'drr.json'])('%s as UTF-16', (name) => {
    const text = carried(name)
    expect(onlyFault(runFile(name, Buffer.from(text, 'utf16le')))).toMatch(/not UTF-8 text$/)
    expect(onlyFault(runFile(name, Buffer.from(`\uFEFF${text}`, 'utf16le')))).toMatch(/not UTF-8 text$/)
  })

  test.each(['rng.jsonl', 'drr.json'])('%s nested too deep', (name) => {
    for (const depth of [65, 100_000]) {
      const nested = `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`
      expect(onlyFault(runFile(name, nested))).toMatch(/nested too deep/)
    }
  })

  test('brackets in a text are no levels', () => {
    const note = `${'['.repeat(100)}"${'{'.repeat(100)}`
    const line = JSON.stringify({ kind: 'round-half-away', note, input: 0.5, expect: 1 })
    expect(runFile('selection.jsonl', line)).toMatchObject({ passed: 1, failed: 0 })
  })
})

describe('paths that cannot be read', () => {
  test('a circle of links, given and in a folder', () => {
    const place = join(folder, 'links')
    mkdirSync(place)
    symlinkSync('b.jsonl', join(place, 'a.jsonl'))
    symlinkSync('a.jsonl', join(place, 'b.jsonl'))
    symlinkSync('.', join(place, 'here.jsonl'))
    symlinkSync('nowhere', join(place, 'lost.jsonl'))
    expect(onlyFault(runVectors([join(place, 'a.jsonl')])[0]!)).toMatch(/^cannot be read: ELOOP/)
    expect(runVectors([place]).map(onlyFault)).toEqual([
      expect.stringContaining('ELOOP'),
      expect.stringContaining('ELOOP'),
      'cannot be read: not a file',
      expect.stringContaining('ENOENT'),
    ])
  })

  test('a name that is too long', () => {
    expect(onlyFault(runVectors([join(folder, 'x'.repeat(5000))])[0]!)).toMatch(
      /^cannot be read: ENAMETOOLONG/,
    )
  })

  test.skipIf(process.getuid?.() === 0)('a folder without permission', () => {
    const place = join(folder, 'locked')
    mkdirSync(place)
    writeFileSync(join(place, 'rng.jsonl'), carried('rng.jsonl'))
    mkdirSync(join(place, 'below'), { mode: 0 })
    expect(runVectors([place])).toMatchObject([{ failed: 1 }, { passed: 26 }])
  })
})
