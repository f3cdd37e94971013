import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { runVectors } from '../src/runner/run.js'
import { carried, faultOf as fault, runFile as run } from './support.js'

const folder = mkdtempSync(join(tmpdir(), 'vectors-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('where a file lies and what it is called', { timeout: 60_000 }, () => {
  test('a gzipped file counts as the plain one', () => {
    expect(run('rng.jsonl.gz', gzipSync(carried('rng.jsonl')))).toMatchObject({
      name: 'rng.jsonl.gz',
      passed: 26,
      failed: 0,
    })
    expect(run('softmax.jsonl', gzipSync(carried('softmax.jsonl')))).toMatchObject({ passed: 28, failed: 0 })
  })

  test.each([
    'rng.jsonl',
    'mix-rendezvous.jsonl',
    'softmax.jsonl',
    'selection.jsonl',
    'default-cost.jsonl',
    'kv-capacity-aware.jsonl',
    'parity-costs.jsonl',
    'parity-sequences.jsonl',
    'rust-index.jsonl',
    'rust-accounting.jsonl',
  ])('%s is recognised under another name', (name) => {
    const lines = carried(name).trimEnd().split('\n').length
    expect(run('renamed.txt', carried(name))).toMatchObject({ passed: lines, failed: 0, notCovered: [] })
  })

  test.each(['parity-matrix-t0.jsonl', 'rust-selection.jsonl'])(
    '%s, first lines, under another name',
    (name) => {
      const lines = carried(name).split('\n').slice(0, 8).join('\n')
      expect(run('renamed.jsonl', lines)).toMatchObject({ passed: 8, failed: 0, notCovered: [] })
    },
  )

  test.each(['chwbl.jsonl', 'rust-queue.jsonl', 'thunderagent.jsonl', 'drr.json'])(
    '%s waits under another name too',
    (name) => {
      const { passed, failed, notCovered } = run(`renamed-${name}`, carried(name))
      expect({ passed, failed, about: notCovered[0]?.about }).toEqual({
        passed: 0,
        failed: 0,
        about: name.replace(/\.jsonl?$/, ''),
      })
    },
  )

  test('a document is recognised under another name, also gzipped and on one line', () => {
    const text = carried('hashing.json')
    expect(run('renamed.txt', text)).toMatchObject({ passed: 1, failed: 0, notCovered: [] })
    expect(run('renamed.json.gz', gzipSync(text))).toMatchObject({ passed: 1, failed: 0 })
    expect(run('renamed.jsonl', JSON.stringify(JSON.parse(text)))).toMatchObject({ passed: 1, failed: 0 })
  })

  test('a folder is searched for files, also in folders below', () => {
    const place = join(folder, 'tree')
    mkdirSync(join(place, 'below'), { recursive: true })
    writeFileSync(join(place, 'rng.jsonl'), carried('rng.jsonl'))
    writeFileSync(join(place, 'below', 'rng.jsonl.gz'), gzipSync(carried('rng.jsonl')))
    writeFileSync(join(place, 'README.md'), 'not a vector file')
    expect(runVectors([place, join(place, 'rng.jsonl')]).map(({ passed }) => passed)).toEqual([26, 26])
  })

  test('a line of a waiting shape does not hide under the name of a covered one', () => {
    expect(run('rng.jsonl', carried('chwbl.jsonl'))).toMatchObject({ passed: 0, failed: 10, notCovered: [] })
  })
})

describe('what is refused', () => {
  const [first, ...others] = carried('rng.jsonl').trimEnd().split('\n')
  const rest = others.join('\n')

  test('a line that is not JSON', () => {
    const report = run('rng.jsonl', `${first!.slice(0, -1)}\n${rest}\n`)
    expect(report).toMatchObject({ passed: 25, failed: 1 })
    expect(fault(report)).toMatch(/^not JSON/)
  })

  test('a blank line, and a value that is no object', () => {
    expect(fault(run('rng.jsonl', `${first}\n\n${rest}`))).toMatch(/^not JSON/)
    expect(fault(run('rng.jsonl', '[1]\n'))).toMatch(/^unknown shape/)
  })

  test('a key that stands twice, and a number beyond the largest double', () => {
    expect(fault(run('rng.jsonl', '{"kind":"next","seed":"1","seed":"2","values":["1"]}'))).toMatch(/'seed'/)
    expect(fault(run('softmax.jsonl', '{"kind":"normalised","temperature":1e400}'))).toMatch(/1e400/)
  })

  test('an empty file', () => {
    expect(run('rng.jsonl', '')).toMatchObject({ passed: 0, failed: 1 })
    expect(run('rng.jsonl.gz', gzipSync(''))).toMatchObject({ passed: 0, failed: 1 })
    expect(run('unnamed', '')).toMatchObject({ passed: 0, failed: 1 })
  })

  test('a missing file, and a folder without files', () => {
    expect(runVectors([join(folder, 'nowhere.jsonl')])).toMatchObject([{ passed: 0, failed: 1 }])
    mkdirSync(join(folder, 'empty'))
    expect(runVectors([join(folder, 'empty')])).toMatchObject([{ passed: 0, failed: 1 }])
  })

  test('a damaged gzip, and text that is not UTF-8', () => {
    const packed = gzipSync(carried('rng.jsonl'))
    expect(fault(run('rng.jsonl.gz', packed.subarray(0, packed.length >> 1)))).toMatch(/^cannot be read/)
    const changed = Uint8Array.from(packed)
    changed[packed.length >> 1]! ^= 0x40
    expect(run('rng.jsonl.gz', changed).failed).toBeGreaterThan(0)
    expect(fault(run('rng.jsonl.gz', carried('rng.jsonl')))).toMatch(/^cannot be read/)
    expect(fault(run('rng.jsonl', Uint8Array.of(0x7b, 0xff, 0x7d)))).toMatch(/^cannot be read/)
  })

  test('an unknown shape, by name and fields', () => {
    expect(fault(run('unnamed.jsonl', '{"anything":1}'))).toMatch(/^unknown shape/)
    expect(fault(run('package.json', '{\n  "name": "x"\n}\n'))).toMatch(/^unknown shape/)
    expect(run('rng.jsonl', '{"kind":"previous","seed":"1","values":["1"]}').failed).toBe(1)
  })

  test.each([
    ['rng.jsonl', (line: string) => line.replace('{', '{"extra":1,'), /unknown field 'extra'/],
    [
      'softmax.jsonl',
      (line: string) => line.replace('{"u":0,', '{"u":0,"v":0,'),
      /unknown field 'picks\.0\.v'/,
    ],
    ['selection.jsonl', (line: string) => line.replace('"expect"', '"expected"'), /unknown field 'expected'/],
    [
      'default-cost.jsonl',
      (line: string) => line.replace('"params":{}', '"params":{"credit":1}'),
      /unknown field 'params\.credit'/,
    ],
    [
      'default-cost.jsonl',
      (line: string) => line.replace('"tolerance"', '"why":"x","tolerance"'),
      /unknown field 'expect\.why'/,
    ],
    [
      'kv-capacity-aware.jsonl',
      (line: string) => line.replace('"rows":[{', '"rows":[{"gpu":1,'),
      /'rows\.0\.gpu'/,
    ],
    ['parity-costs.jsonl', (line: string) => line.replace('{', '{"seed":42,'), /unknown field 'seed'/],
    ['parity-matrix-t0.jsonl', (line: string) => line.replace('{', '{"ties":[],'), /unknown field 'ties'/],
    [
      'parity-sequences.jsonl',
      (line: string) => line.replace('{', '{"rounds":64,'),
      /unknown field 'rounds'/,
    ],
    [
      'rust-selection.jsonl',
      (line: string) => line.replace('"result":{', '"result":{"slot":0,'),
      /'expect\.result\.slot'/,
    ],
  ])('%s with a field that the shape does not have', (name, alter, message) => {
    const [line] = carried(name).split('\n')
    const report = run(name, alter(line!))
    expect(report).toMatchObject({ passed: 0, failed: 1 })
    expect(fault(report)).toMatch(message)
  })

  test('parameters that the policy refuses', () => {
    const line = carried('kv-capacity-aware.jsonl').split('\n')[0]!
    const report = run(
      'kv-capacity-aware.jsonl',
      line.replace('"params":{}', '"params":{"capacity_fraction":-1}'),
    )
    expect(report.failed).toBe(1)
    expect(fault(report)).toMatch(/capacity_fraction/)
  })
})
