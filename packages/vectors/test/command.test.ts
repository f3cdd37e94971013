import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { runCommand } from '../src/command.js'
import { dataFolder } from '../src/data.js'

const folder = mkdtempSync(join(tmpdir(), 'vectors-'))
afterAll(() => rmSync(folder, { recursive: true }))

async function run(
  ...args: readonly string[]
): Promise<{ code: number; lines: string[]; complaints: string[] }> {
  const lines: string[] = []
  const complaints: string[] = []
  const code = await runCommand(
    args,
    (line) => lines.push(...line.split('\n')),
    (line) => complaints.push(line),
  )
  return { code, lines, complaints }
}

describe('the command', () => {
  test('prints one line a file and the sum', async () => {
    const { code, lines } = await run(join(dataFolder, 'rng.jsonl'), join(dataFolder, 'softmax.jsonl'))
    expect(lines).toEqual([
      'rng.jsonl: 26 passed, 0 failed',
      'softmax.jsonl: 28 passed, 0 failed',
      'total: 54 passed, 0 failed',
    ])
    expect(code).toBe(0)
  })

  test('prints the case, expected and actual values and their bits', async () => {
    const path = join(folder, 'mine.jsonl')
    writeFileSync(path, '{"kind":"round-half-away","id":"half","input":0.5,"expect":0}\n')
    const { code, lines } = await run(path)
    expect(lines).toEqual([
      'mine.jsonl: 0 passed, 1 failed',
      '  half (line 1), round-half-away: expect',
      '    expected 0 (0x0000000000000000)',
      '    actual   1 (0x3ff0000000000000)',
      'total: 0 passed, 1 failed',
    ])
    expect(code).toBe(1)
  })

  test('prints five mismatches and counts the others', async () => {
    const path = join(folder, 'mine.jsonl')
    const line = '{"kind":"request-blocks","promptTokens":1,"blockSize":1,"expect":2}\n'
    writeFileSync(path, line.repeat(8))
    const { lines } = await run(path)
    expect(lines.filter((text) => text.includes('expected'))).toHaveLength(5)
    expect(lines).toContain('  and 3 more')
    expect(lines[0]).toBe('mine.jsonl: 0 passed, 8 failed')
  })

  test('lists what is not covered, and passes', async () => {
    const { code, lines } = await run(join(dataFolder, 'chwbl.jsonl'), join(dataFolder, 'drr.json'))
    expect(lines).toEqual([
      'chwbl.jsonl: not covered (needs @router/policy-chwbl), 10 lines',
      'drr.json: not covered (needs the queue of @router/core), 1 document',
      'not covered: 10 lines, 1 document',
      'total: 0 passed, 0 failed',
    ])
    expect(code).toBe(0)
  })

  test('two files of one name are told by their paths', async () => {
    const copy = join(folder, 'rng.jsonl')
    writeFileSync(copy, '{"kind":"next","seed":"0","values":["11116517241604665558"]}\n')
    const original = join(dataFolder, 'rng.jsonl')
    expect((await run(copy, original)).lines.slice(0, 2)).toEqual([
      `${copy}: 1 passed, 0 failed`,
      `${original}: 26 passed, 0 failed`,
    ])
  })

  test('finds a carried file by its name', async () => {
    expect((await run('rng.jsonl')).lines[0]).toBe('rng.jsonl: 26 passed, 0 failed')
    expect((await run('nobody.jsonl')).lines[1]).toBe(
      '  no such file, or a folder without .jsonl or .json files',
    )
  })

  test('--list names every carried kind of file, --help has examples, an unknown option is refused', async () => {
    const { lines } = await run('--list')
    expect(lines).toContain('rng: @router/sdk')
    expect(lines).toContain('drr: nothing yet: needs the queue of @router/core')
    expect((await run('--help')).lines.join('\n')).toContain('npm run vectors -- my-cases.jsonl.gz')
    expect((await run('--help')).code).toBe(0)
  })

  test.each([
    [['--unknown'], /--unknown/],
    [['--list', 'rng.jsonl'], /'rng\.jsonl'/],
  ])('%j is a usage error: exit code 2, a text beside the output', async (args, text) => {
    const { code, lines, complaints } = await run(...args)
    expect({ code, lines }).toEqual({ code: 2, lines: [] })
    expect(complaints.join('\n')).toMatch(text)
  })
})
