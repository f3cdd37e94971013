import {
  type ReplayRequest,
  type RustReplayLine,
  rustReplayLine,
  waitingReplayLine,
} from '../shapes/rust-replay.js'
import type { Checks } from './checks.js'
import { type NotCovered, type RawLine, defineFamily, parseLine } from './family.js'
import { type ReplayRun, type RowRun, replay } from './rust-replay-loop.js'
import { distributionsOf, gapsOf, reusedTokens, scalarsOf } from './rust-replay-summary.js'
import { kernels } from './selectors.js'

/** Whole runs of vLLM-like workers behind their router: every time, hit and token, and the report. */
export const rustReplayFamily = defineFamily({
  name: 'rust-replay',
  recognises: (line) => 'topology' in line && 'trace' in line && 'expect' in line,
  notCovered,
  checkWaiting: (line) => parseLine(waitingReplayLine, line),
  covers: '@router/engine-sim, @router/core, @router/policy-default: lines of workers that are all vLLM-like',
  schema: rustReplayLine,
  evaluate: (line, checks) => {
    for (const kernel of line.router.mode === 'kv_router' ? kernels : kernels.slice(0, 1))
      checks.within(kernel.name, () => checkRun(line, replay(line, kernel), checks))
  },
})

function checkRun(line: RustReplayLine, run: ReplayRun, checks: Checks): void {
  checks.equal('a run that gets stuck', false, run.isStuck)
  const runOf = new Map(run.rows.map((row) => [row.row, row]))
  const rows = [...runOf.keys()].toSorted((a, b) => a - b)
  const expectedRows = line.expect.requests.map(({ row }) => row)
  checks.list(
    'rows that were sent',
    expectedRows.toSorted((a, b) => a - b),
    rows,
  )
  checks.list(
    'notDispatched',
    line.expect.notDispatched ?? [],
    line.trace.rows.flatMap((_, row) => (runOf.has(row) ? [] : [row])),
  )
  for (const [index, expected] of line.expect.requests.entries()) {
    const row = runOf.get(expected.row)
    if (row !== undefined)
      checks.within(`requests[${index}]`, () => checkRequest(line, expected, row, checks))
  }
  checks.within('summary', () => checkSummary(line, run, checks))
}

const replayPackage = '@router/replay'

function notCovered(line: RawLine): NotCovered | undefined {
  if (line['topology'] === 'disaggregated') return waiting('prefill and decode pools')
  const { backend = 'vllm' } = (line['engine'] ?? {}) as { readonly backend?: unknown }
  if (backend === 'sglang' || backend === 'trtllm') return waiting(`an engine like ${backend}`)
  return undefined
}

function waiting(what: string): NotCovered {
  return { about: `rust-replay: ${what}`, needs: replayPackage }
}

function checkRequest(line: RustReplayLine, expected: ReplayRequest, run: RowRun, checks: Checks): void {
  const { tokenMs, admissions } = run
  checks.equal('arrivalMs', expected.arrivalMs, run.arrivalMs)
  checks.equal('admitMs', expected.admitMs, admissions[0]?.[1] ?? null)
  checks.equal('firstTokenMs', expected.firstTokenMs, tokenMs[0] ?? null)
  checks.equal('lastTokenMs', expected.lastTokenMs, tokenMs.at(-1) ?? null)
  checks.equal('endMs', expected.endMs, run.endMs)
  checks.equal('secondTokenGapMs', expected.secondTokenGapMs, gapsOf(run)[0] ?? null)
  checks.equal('outputTokens', expected.outputTokens, tokenMs.length)
  checks.equal('reusedTokens', expected.reusedTokens, reusedTokens(run))
  checks.equal('status', expected.status, run.status)
  checks.list('admissions', expected.admissions.flat(), admissions.flat())
  const outcome = run.queuedAtMs === null ? 'immediate' : 'queued'
  const { worker, queuedAtMs, releasedAtMs, selectedOverlapBlocks, bestOverlapBlocks } = run
  const routing = ['agg', worker, outcome, queuedAtMs, releasedAtMs, selectedOverlapBlocks, bestOverlapBlocks]
  checks.list('routing', expected.routing.flat(), routing)
}

const roundings = 1e-9
const sketch = 1e-3

function checkSummary(line: RustReplayLine, run: ReplayRun, checks: Checks): void {
  const { summary } = line.expect
  const scalars = scalarsOf(run, line)
  for (const name of Object.keys({ ...scalars, ...scalarNames(summary) }) as (keyof typeof scalars)[]) {
    const isExact = Number.isInteger(summary[name]) || name === 'duration_ms'
    checks.equal(name, summary[name], scalars[name], { tolerance: isExact ? 0 : roundings })
  }
  for (const [name, actual] of Object.entries(distributionsOf(run))) {
    const expected = summary[name as keyof ReturnType<typeof distributionsOf>]
    const { sketched, ...figures } = 'sketched' in expected ? expected : { ...expected, sketched: {} }
    for (const [key, value] of Object.entries(figures)) {
      // The deviation of equal values is nothing but rounding.
      const tolerance = key === 'std' ? roundings * Math.max(1, actual.max) : roundings
      checks.equal(`${name}.${key}`, value, actual[key as keyof typeof actual], { tolerance })
    }
    for (const [key, value] of Object.entries(sketched))
      checks.equal(`${name}.sketched.${key}`, value, actual[key as keyof typeof actual], {
        tolerance: sketch,
      })
  }
}

function scalarNames(summary: RustReplayLine['expect']['summary']): object {
  return Object.fromEntries(Object.entries(summary).filter(([, value]) => typeof value === 'number'))
}
