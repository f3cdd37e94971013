import { WyRand, minimumCostPicker, softmaxPicker } from '@router/sdk'
import { type ParitySequenceLine, paritySequenceLine } from '../shapes/parity.js'
import type { Checks } from './checks.js'
import { defineFamily } from './family.js'
import { kindsOf } from './kinds.js'
import { addWorkers, applyShape, parametersOfMode, shapeOfMode, shapeOfRound } from './parity-fixture.js'
import { rowIndex } from './parity.js'
import { resolvePolicy } from './policies.js'
import { probePolicy, scriptedScorer } from './probes.js'
import { rankOf } from './rows.js'
import { type RunState, sweepKey } from './run-state.js'
import { type Kernel, emptyTable, kernels, withSelector } from './selectors.js'

type Line<K extends ParitySequenceLine['kind']> = Extract<ParitySequenceLine, { kind: K }>

/** Sequences of unlike requests through one policy object. */
export const paritySequencesFamily = defineFamily({
  name: 'parity-sequences',
  recognises: kindsOf(paritySequenceLine),
  covers: '@router/policy-default, @router/core',
  schema: paritySequenceLine,
  evaluate: (line, checks, state) => {
    for (const kernel of kernels) {
      checks.within(kernel.name, () => {
        if (line.kind === 'sweep') sweep(line, kernel, checks, state)
        else if (line.kind === 'pin-pattern') pinPattern(line, kernel, checks)
        else goldenPrefix(line, kernel, checks)
      })
    }
  },
})

function sweep(line: Line<'sweep'>, kernel: Kernel, checks: Checks, state: RunState): void {
  const { label, role, temperature, picks } = line
  const table = emptyTable(kernel)
  addWorkers(table, shapeOfRound(0).workers)
  const policy = resolvePolicy('dynamo-default-cost-fn', parametersOfMode(0, temperature))
  withSelector({ table, policy, place: { role, conditionalDisaggregation: false } }, (selector) => {
    checks.equal('role of the label', label === 'prefill' ? 'prefill' : 'aggregated', role)
    const picked = picks.map((_, round) => rowIndex(selector.select(applyShape(table, shapeOfRound(round)))))
    checks.list('picks', picks, picked)
    state.cells.set(sweepKey(label, temperature), picked)
  })
}

function pinPattern(line: Line<'pin-pattern'>, kernel: Kernel, checks: Checks): void {
  const { workers, promptTokens, role, temperature, pinned, picks } = line
  const table = emptyTable(kernel)
  addWorkers(table, workers)
  const request = applyShape(table, { ...shapeOfMode(0, promptTokens), workers })
  const policy = resolvePolicy('dynamo-default-cost-fn', { router_temperature: temperature, seed: '42' })
  withSelector({ table, policy, place: { role, conditionalDisaggregation: false } }, (selector) => {
    const picked = pinned.map((isPinned) => {
      const pinnedWorker = isPinned ? rankOf(line.pinnedWorker) : undefined
      return rowIndex(selector.select({ ...request, pinnedWorker }))
    })
    checks.list('picks', picks, picked)
  })
}

function goldenPrefix(line: Line<'golden-prefix'>, kernel: Kernel, checks: Checks): void {
  const { workerIds, costs, temperature, seed, picks } = line
  const table = emptyTable(kernel)
  for (const id of workerIds) table.upsertWorker({ workerId: BigInt(id) })
  for (const [index, id] of workerIds.entries())
    table.setLoad(table.slotOf(BigInt(id), 0), 0, costs[index]!, 0)
  const place = { role: 'prefill', conditionalDisaggregation: false } as const
  // An empty prompt on an idle prefill rank costs its decode blocks, and nothing else.
  const request = { mode: 'tracked', promptTokens: 0, blockSize: 16 } as const
  const policy = resolvePolicy('dynamo-default-cost-fn', { router_temperature: temperature, seed })
  withSelector({ table, policy, place }, (selector) => {
    const { rows } = selector.explain(request)
    const totals = new Map(rows.map((row) => [row.workerId, row.total]))
    if (costs.every((cost) => cost >= 0)) {
      checks.list(
        'costs',
        costs,
        workerIds.map((id) => totals.get(BigInt(id))),
      )
      checks.list(
        'picks',
        picks.map(BigInt),
        picks.map(() => selector.select(request).workerId),
      )
    }
  })
  const random = new WyRand(BigInt(seed))
  const picker = temperature === 0 ? minimumCostPicker(random) : softmaxPicker(random, temperature)
  const byRow = table.workers.map(({ workerId }) => costs[workerIds.indexOf(String(workerId))])
  const scripted = probePolicy({ scorers: [scriptedScorer(byRow)], picker: picker as never })
  withSelector({ table, policy: scripted, place }, (selector) => {
    checks.within('pickers of the contract', () => {
      checks.list(
        'picks',
        picks.map(BigInt),
        picks.map(() => selector.select(request).workerId),
      )
    })
  })
}
