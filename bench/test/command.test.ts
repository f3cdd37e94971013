import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { runCommand } from '../src/command.js'
import { Progress } from '../src/progress.js'
import type { SelectionReport } from '../src/selection/results.js'
import type { StateReport } from '../src/state/state-bench.js'

const folder = mkdtempSync(join(tmpdir(), 'router-bench-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function run(...args: string[]): Promise<{ exitCode: number; output: string }> {
  const printed: string[] = []
  const progress: string[] = []
  const exitCode = await runCommand(args, {
    print: (text) => printed.push(text),
    progress: { isTTY: false, write: (text) => progress.push(text) },
    folder,
    resultsFolder: folder,
    stateBenches: [],
    launchProcesses: async () => ({ p50Ns: 100, p99Ns: 200, bytes: 0 }),
    launchRow: async () => ({ value: 1 }),
  })
  return { exitCode, output: printed.join('\n') }
}

describe('bench', () => {
  it('lists the benches', async () => {
    const { exitCode, output } = await run()
    expect(exitCode).toBe(0)
    expect(output).toMatch(/selection .*what one selection costs/)
  })

  it('explains itself with examples', async () => {
    const { exitCode, output } = await run('selection', '--help')
    expect(exitCode).toBe(0)
    expect(output).toContain('npm run bench -- selection --workers 64,1024')
  })

  it.each([
    ['nothing'],
    ['selection', '--slow'],
    ['selection', '--workers', '64,x'],
    ['selection', '--workers', '1'],
  ])('refuses wrong use: %s %s %s', async (...args) => {
    expect((await run(...args)).exitCode).toBe(2)
  })

  it('writes the rows as JSON', async () => {
    const { exitCode } = await run('selection', '--workers', '8', '--filter', 'floor', '--json', 'a/b.json')
    expect(exitCode).toBe(0)
    const report = JSON.parse(readFileSync(join(folder, 'a/b.json'), 'utf8')) as SelectionReport
    expect(report.name).toBe('selection')
    expect(report.rows).toEqual([
      {
        group: 'default',
        workers: 8,
        ranks: 2,
        temperature: 0,
        variant: 'floor',
        p50Ns: 100,
        p99Ns: 200,
        bytesPerSelection: 0,
      },
    ])
  })

  it('fails when a variant cannot be measured', async () => {
    const exitCode = await runCommand(['selection', '--workers', '8', '--filter', 'floor'], {
      print: () => {},
      progress: { write: () => {} },
      folder,
      resultsFolder: folder,
      stateBenches: [],
      launchProcesses: async () => {
        throw new Error('no such process')
      },
      launchRow: async () => ({ value: 1 }),
    })
    expect(exitCode).toBe(1)
  })
})

describe('bench as a process', () => {
  it('measures each variant in a process of its own', async () => {
    const root = fileURLToPath(new URL('../..', import.meta.url))
    const file = join(folder, 'own-processes.json')
    const args = ['selection', '--quick', '--workers', '4', '--filter', 'stacked', '--json', file]
    await promisify(execFile)(process.execPath, ['scripts/run.mjs', 'bench', ...args], { cwd: root })
    const { rows, isIsolated } = JSON.parse(readFileSync(file, 'utf8')) as SelectionReport
    expect(isIsolated).toBe(true)
    expect(rows.map(({ variant }) => variant)).toEqual(['stacked/s1', 'stacked/s2', 'stacked/s4'])
    expect(rows.every(({ p50Ns }) => p50Ns > 0)).toBe(true)
  })

  it('measures each row of a state bench in a process of its own', async () => {
    const root = fileURLToPath(new URL('../..', import.meta.url))
    const file = join(folder, 'own-row.json')
    const args = ['index', '--quick', '--filter', 'early miss, hot', '--json', file]
    await promisify(execFile)(process.execPath, ['scripts/run.mjs', 'bench', ...args], { cwd: root })
    const { name, rows } = JSON.parse(readFileSync(file, 'utf8')) as StateReport
    expect(name).toBe('index')
    expect(rows).toHaveLength(1)
    expect(rows[0]).toMatchObject({ name: 'early miss, hot', unit: 'ns', reach: { atMost: 15 } })
    expect(rows[0]!.value).toBeGreaterThan(0)
  })
})

describe('Progress', () => {
  it('is one line on a terminal', () => {
    const written: string[] = []
    const progress = new Progress({ isTTY: true, columns: 11, write: (text) => written.push(text) })
    progress.show('a long piece of work')
    progress.clear()
    expect(written).toEqual(['\r\u001B[Ka long pie', '\r\u001B[K'])
  })

  it('is a line for each place elsewhere', () => {
    const written: string[] = []
    const progress = new Progress({ write: (text) => written.push(text) })
    for (const text of ['1/2 floor: round 1', '1/2 floor: round 2', '2/2 policy: round 1'])
      progress.show(text)
    progress.clear()
    expect(written).toEqual(['1/2 floor\n', '2/2 policy\n'])
  })
})
