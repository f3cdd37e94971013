import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { runCommand } from '../src/command.js'
import { takeFigure } from '../src/harness/figure-take.js'
import type { FigureRow } from '../src/harness/figure.js'
import { type StateBench, stateBenches } from '../src/state/benches.js'
import { answerTask, launchRowProcesses } from '../src/state/row-process.js'
import type { StateReport } from '../src/state/state-bench.js'

const folder = mkdtempSync(join(tmpdir(), 'router-state-bench-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const effort = { warmUpMs: 1, timedMs: 1, countedMs: 1, rounds: 1 }

const rows: readonly FigureRow[] = [
  { group: 'memory', name: 'small', unit: 'bytes', reach: { atMost: 8 }, compute: () => ({ value: 8 }) },
  {
    group: 'memory',
    name: 'large',
    unit: 'bytes',
    reach: { atMost: 8 },
    whyNot: 'nobody slimmed it',
    compute: () => ({ value: 12_345.678, note: 'at its worst' }),
  },
  {
    group: 'rate',
    name: 'slow',
    unit: 'M blocks/s',
    reach: { atLeast: 1e9 },
    setup: () => ({ perCall: 1, body: () => 1 }),
  },
  { group: 'rate', name: 'informative', unit: 'ns', setup: () => ({ perCall: 1, body: () => 1 }) },
]

const failing: FigureRow = {
  group: 'rate',
  name: 'broken',
  unit: 'ns',
  reach: { atMost: 1 },
  setup: () => {
    throw new Error('the answer is wrong')
  },
}

async function run(benchRows: readonly FigureRow[], ...args: string[]) {
  const printed: string[] = []
  const bench: StateBench = { name: 'thing', description: 'what a thing costs', rows: async () => benchRows }
  const exitCode = await runCommand(args, {
    print: (text) => printed.push(text),
    progress: { write: () => {} },
    folder,
    resultsFolder: join(folder, 'results'),
    stateBenches: [bench],
    launchProcesses: async () => {
      throw new Error('not of this bench')
    },
    launchRow: async (_bench, row) => takeFigure(row, effort),
  })
  return { exitCode, output: printed.join('\n') }
}

const reportIn = (file: string): StateReport => JSON.parse(readFileSync(join(folder, file), 'utf8'))

describe('a state bench', () => {
  it('writes name and rows as JSON', async () => {
    const { exitCode } = await run(rows, 'thing', '--json', 'a/thing.json')
    expect(exitCode).toBe(0)
    const report = reportIn('a/thing.json')
    expect(report.name).toBe('thing')
    const common = { rounds: [expect.any(Number), ...Array.from({ length: 4 }, () => expect.any(Number))] }
    expect(report.rows).toEqual([
      { ...common, ...named(rows[0]!), value: 8, reach: { atMost: 8 }, reached: true, note: '' },
      {
        ...common,
        ...named(rows[1]!),
        value: 12_345.678,
        reach: { atMost: 8 },
        reached: false,
        note: 'nobody slimmed it; at its worst',
      },
      {
        ...common,
        ...named(rows[2]!),
        value: expect.any(Number),
        reach: { atLeast: 1e9 },
        reached: false,
        note: '',
      },
      {
        ...common,
        ...named(rows[3]!),
        value: expect.any(Number),
        p99: expect.any(Number),
        reach: null,
        reached: null,
        note: '',
      },
    ])
  })

  it('prints a table a group, with what was reached and why not', async () => {
    const { output } = await run(rows, 'thing', '--quick')
    expect(output).toMatch(/^small +8 +bytes +<= 8 +yes/m)
    expect(output).toMatch(/^large +12,346 +bytes +<= 8 +no/m)
    expect(output).toMatch(/^slow +\S+ +M blocks\/s +>= 1,000,000,000 +no/m)
    expect(output).toContain('- large: nobody slimmed it; at its worst')
    expect(output).toContain('1 of 3 figures reached.')
    expect(output).toContain('Not for publication: few and short rounds')
  })

  it('fails when a row throws, after measuring the others', async () => {
    const { exitCode, output } = await run([failing, ...rows], 'thing', '--quick', '--json', 'failed.json')
    expect(exitCode).toBe(1)
    expect(output).toMatch(/^broken +failed/m)
    expect(output).toContain('- broken: the answer is wrong')
    const [first, ...others] = reportIn('failed.json').rows
    expect(first).toMatchObject({ name: 'broken', value: null, reached: false, rounds: [] })
    expect(others.map(({ value }) => typeof value)).toEqual(rows.map(() => 'number'))
  })

  it('takes the rows and groups that the filter names', async () => {
    await run(rows, 'thing', '--quick', '--filter', 'memory', '--json', 'group.json')
    expect(reportIn('group.json').rows.map(({ name }) => name)).toEqual(['small', 'large'])
    await run(rows, 'thing', '--quick', '--filter', 'slow', '--json', 'row.json')
    expect(reportIn('row.json').rows.map(({ name }) => name)).toEqual(['slow'])
    const { exitCode, output } = await run(rows, 'thing', '--filter', 'typo')
    expect(exitCode).toBe(2)
    expect(output).toContain("'typo'")
    expect((await run([], 'thing')).exitCode).toBe(2)
  })

  it('keeps recorded results but by a whole run', async () => {
    const recorded = join(folder, 'results/thing.json')
    await run(rows, 'thing', '--quick')
    await run(rows, 'thing', '--filter', 'small')
    expect(existsSync(recorded)).toBe(false)
    const { output } = await run(rows, 'thing')
    expect(output).toContain(recorded)
    expect(reportIn('results/thing.json').rows).toHaveLength(rows.length)
  })

  it('refuses rows of one name and wrong use', async () => {
    expect((await run([...rows, rows[0]!], 'thing')).exitCode).toBe(1)
    expect((await run(rows, 'thing', '--workers', '4')).exitCode).toBe(2)
    expect((await run(rows, 'thing', '--help')).output).toContain('npm run bench -- thing --quick')
  })
})

const named = ({ group, name, unit }: FigureRow) => ({ group, name, unit })

describe('a process of a row', () => {
  const task = { bench: 'thing', group: 'memory', row: 'small', effort }
  const benches = [{ name: 'thing', description: '', rows: async () => [...rows, failing] }]

  it('answers with the take, or why there is none', async () => {
    expect(await answerTask(task, benches)).toEqual({ take: { value: 8 } })
    const failed = await answerTask({ ...task, group: 'rate', row: 'broken' }, benches)
    expect(failed).toEqual({ failure: expect.stringContaining('the answer is wrong') })
    for (const other of [{ row: 'slow' }, { group: 'rate' }, { bench: 'other' }]) {
      const unknown = await answerTask({ ...task, ...other }, benches)
      expect(unknown).toEqual({ failure: expect.stringContaining('no row') })
    }
  })

  it.each([
    ['process.send({ take: { value: Number(process.argv.length) } })', 4],
    ['process.send({ failure: "the answer is wrong" })', 'the answer is wrong'],
    ['process.exit(3)', 'small ended with exit code 3'],
    ['process.send({ take: { value: 1 } }); process.exitCode = 1', 'small ended with exit code 1'],
    ['process.kill(process.pid, "SIGKILL")', 'small ended with SIGKILL'],
  ])('is asked by its parent: %s', async (code, expected) => {
    const entry = join(folder, 'entry.mjs')
    writeFileSync(entry, code)
    const launched = launchRowProcesses(entry)('thing', rows[0]!, effort)
    if (typeof expected === 'number') expect(await launched).toEqual({ value: expected })
    else await expect(launched).rejects.toThrow(expected)
  })
})

describe('the state benches', () => {
  it.each(stateBenches)('$name has rows of different names', async ({ rows: load }) => {
    const names = (await load()).map(({ group, name }) => `${group}, ${name}`)
    expect(new Set(names).size).toBe(names.length)
  })
})
