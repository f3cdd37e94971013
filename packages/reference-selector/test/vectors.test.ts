import type { WorkerRank, WorkerRole } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import {
  type Candidate,
  type CapacityParameters,
  type DefaultOptions,
  type DefaultParameters,
  ReferenceRandom,
  ReferenceSelector,
  type Snapshot,
  type SnapshotRequest,
  builtInCapacityParameters,
  builtInParameters,
  capacityCosts,
  capacityOrder,
  defaultCosts,
  lowest,
  pickByCumulative,
  reservoir,
  softmaxProbabilities,
} from '../src/index.js'
import { vectorLines } from './vector-lines.js'

const rank = ({ workerId, dpRank }: WorkerRank): string => `${workerId}.${dpRank}`
const isBelow = (left: number, right: number): boolean => left < right

function parseRank(text: string): WorkerRank {
  const [workerId, dpRank] = text.split('.')
  return { workerId: BigInt(workerId!), dpRank: Number(dpRank) }
}

function isClose(actual: number, expected: number, tolerance: number): boolean {
  if (tolerance === 0) return Object.is(actual, expected)
  return Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(actual), Math.abs(expected))
}

function expectClose(actual: readonly number[], expected: readonly number[], tolerance: number): void {
  const matches =
    actual.length === expected.length && actual.every((cost, i) => isClose(cost, expected[i]!, tolerance))
  if (!matches) expect(actual).toEqual(expected)
}

interface RecordedLine {
  id: string
  role: WorkerRole
  conditionalDisaggregation: boolean
  sharedCacheType: string
  params: Partial<DefaultParameters>
  seed: string
  selections: number
  request: SnapshotRequest
  constraints: {
    allowedWorkerIds: string[] | null
    availableWorkerIds: string[] | null
    overloadedWorkerIds: string[] | null
    pinnedWorker: string | null
    affinityTarget: { workerId: string; dpRank: number | null } | null
    requiredTaints: string[]
    preferredTaints: [string, number][]
  }
  workers: [string, number, number, string[]][]
  rows: [string, ...(number | null)[]][]
  expect: {
    eligible: string[]
    costs: number[]
    tieSet: string[]
    picks: string[]
    result: Record<string, number | null>
    tolerance: number
    rejected?: [string, string][]
    taintMultipliers?: number[]
    error?: string
    workerId?: string
    scorerIndex?: number
    row?: number
  }
}

const ids = (texts: readonly string[] | null): bigint[] | null => (texts === null ? null : texts.map(BigInt))

function recordedCase(line: RecordedLine): { options: DefaultOptions; snapshot: Snapshot } {
  const { constraints } = line
  const { pinnedWorker, affinityTarget } = constraints
  const shared_cache_multiplier = line.sharedCacheType === 'hicache' ? 0.5 : 0
  return {
    options: {
      role: line.role,
      conditionalDisaggregation: line.conditionalDisaggregation,
      parameters: { ...builtInParameters, shared_cache_multiplier, ...line.params },
      seed: BigInt(line.seed),
    },
    snapshot: {
      request: line.request,
      constraints: {
        ...constraints,
        allowedWorkerIds: ids(constraints.allowedWorkerIds),
        availableWorkerIds: ids(constraints.availableWorkerIds),
        overloadedWorkerIds: ids(constraints.overloadedWorkerIds),
        pinnedWorker: pinnedWorker === null ? null : parseRank(pinnedWorker),
        affinityTarget:
          affinityTarget === null ? null : { ...affinityTarget, workerId: BigInt(affinityTarget.workerId) },
      },
      workers: line.workers.map(([workerId, startRank, rankCount, taints]) => ({
        workerId: BigInt(workerId),
        startRank,
        rankCount,
        taints,
      })),
      rows: line.rows.map(([workerId, ...values]) => {
        const [dpRank, device, host, disk, estimateBlocks, estimateTokens] = values as number[]
        const [prefill, active, additional, requests] = values.slice(6)
        return {
          workerId: BigInt(workerId),
          dpRank: dpRank!,
          deviceOverlapBlocks: device!,
          hostOverlapBlocks: host!,
          diskOverlapBlocks: disk!,
          estimateBlocks: estimateBlocks!,
          estimateTokens: estimateTokens!,
          load:
            active === null
              ? null
              : {
                  activePrefillTokens: prefill!,
                  decodeCostBlocks: active! + additional!,
                  activeRequests: requests!,
                },
        }
      }),
    },
  }
}

const errorCodes: Record<string, string> = {
  NoEndpoints: 'ROUTER_NO_ENDPOINTS',
  AllEligibleWorkersOverloaded: 'ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED',
  PinnedWorkerOverloaded: 'ROUTER_PINNED_WORKER_OVERLOADED',
  PinnedWorkerNotAllowed: 'ROUTER_PINNED_WORKER_NOT_ALLOWED',
  NonFiniteCost: 'ROUTER_NON_FINITE_COST',
}

function expectedDetails({ workerId, scorerIndex, row }: RecordedLine['expect']): object {
  if (workerId !== undefined) return { workerId: BigInt(workerId) }
  return scorerIndex === undefined ? {} : { scorerIndex, row }
}

describe('rust-selection', () => {
  const lines = vectorLines<RecordedLine>('rust-selection')
  it('has all its lines', () => expect(lines).toHaveLength(400))

  it.each(lines.map((line) => [line.id, line] as const))('%s', (_id, line) => {
    const { options, snapshot } = recordedCase(line)
    const selector = new ReferenceSelector(options)
    const outcomes = Array.from({ length: line.selections }, () => selector.select(snapshot))
    const expected = line.expect
    for (const outcome of outcomes) {
      if (expected.error !== undefined) {
        const error = { code: errorCodes[expected.error], details: expectedDetails(expected) }
        expect(outcome.error).toEqual(error)
        continue
      }
      expect(outcome.error).toBeUndefined()
      expect(outcome.eligible.map(rank)).toEqual(expected.eligible)
      expectClose(outcome.costs, expected.costs, expected.tolerance)
      expect(outcome.tieSet.map(rank)).toEqual(expected.tieSet)
      if (expected.rejected !== undefined) {
        const rejected = outcome.rejected.map(([worker, reason]) => [rank(worker), reason])
        expect(new Set(rejected.map(String))).toEqual(new Set(expected.rejected.map(String)))
      }
      if (expected.taintMultipliers !== undefined) {
        expectClose(outcome.taintMultipliers!, expected.taintMultipliers, 1e-15)
      }
    }
    if (expected.error !== undefined) return
    expect(outcomes.map(({ result }) => rank(result!))).toEqual(expected.picks)
    const result = outcomes.at(-1)!.result! as unknown as Record<string, number | undefined>
    for (const [field, value] of Object.entries(expected.result)) {
      expect([field, result[field] ?? null]).toEqual([field, value])
    }
    if (!('maxRawCachedTokens' in expected.result) && line.request.tracked) {
      expect([result.maxRawCachedTokens, result.selectedRawCachedTokens]).toEqual([0, 0])
    }
  })
})

interface VectorRow {
  workerId: string
  dpRank: number
  deviceOverlapBlocks: number | null
  hostOverlapBlocks: number | null
  diskOverlapBlocks: number | null
  estimateBlocks: number | null
  estimateTokens: number | null
  load: Candidate['load']
  totalKvBlocks: number | null
  taintMultiplier: number | null
}

interface PolicyLine<P, E> {
  id: string
  params: Partial<P>
  request: SnapshotRequest
  rows: VectorRow[]
  expect: E & { tieSet: string[] }
}

const toCandidate = (row: VectorRow): Candidate => ({
  ...row,
  workerId: BigInt(row.workerId),
  deviceOverlapBlocks: row.deviceOverlapBlocks ?? 0,
  hostOverlapBlocks: row.hostOverlapBlocks ?? 0,
  diskOverlapBlocks: row.diskOverlapBlocks ?? 0,
  estimateBlocks: row.estimateBlocks ?? 0,
  estimateTokens: row.estimateTokens ?? 0,
  totalKvBlocks: row.totalKvBlocks === 0 ? null : row.totalKvBlocks,
})

describe('default-cost', () => {
  type Line = PolicyLine<DefaultParameters, { costs: number[]; tolerance: number }> & {
    label: 'prefill' | 'decode' | 'test'
    plainDecode: boolean
  }
  const lines = vectorLines<Line>('default-cost')
  it.each(lines.map((line) => [line.id, line] as const))('%s', (_id, line) => {
    const candidates = line.rows.map(toCandidate)
    const decodeRole = line.plainDecode ? 'decode' : 'aggregated'
    const options = {
      role: line.label === 'decode' ? decodeRole : 'prefill',
      conditionalDisaggregation: false,
      parameters: { ...builtInParameters, ...line.params },
    } as const
    const costs = defaultCosts(options, line.request, candidates)
    expectClose(costs, line.expect.costs, line.expect.tolerance)
    expect(lowest(costs, isBelow).map((index) => rank(candidates[index]!))).toEqual(line.expect.tieSet)
  })
})

describe('kv-capacity-aware', () => {
  type Line = PolicyLine<CapacityParameters, { mode: string; warned: string[] }>
  const lines = vectorLines<Line>('kv-capacity-aware')
  it('has all its lines', () => expect(lines).toHaveLength(46))

  it.each(lines.map((line) => [line.id, line] as const))('%s', (_id, line) => {
    const candidates = line.rows.map(toCandidate)
    const parameters = { ...builtInCapacityParameters, ...line.params }
    const order = capacityOrder(parameters, candidates, capacityCosts(parameters, candidates))
    const { mode, contenders, keys, warned } = order
    const tieSet = lowest(
      keys,
      (left, right) => left[0] < right[0] || (left[0] === right[0] && left[1] < right[1]),
    )
    expect({
      mode,
      tieSet: tieSet.map((index) => rank(candidates[contenders[index]!]!)),
      warned: warned.map((index) => rank(candidates[index]!)),
    }).toEqual({ mode: line.expect.mode, tieSet: line.expect.tieSet, warned: line.expect.warned })
  })
})

describe('building blocks', () => {
  interface RandomLine {
    kind: string
    seed: string
    n: number
    values: (string | number)[]
    costs: number[]
    picks: number[]
  }
  const kinds = ['next', 'below', 'unit', 'reservoir']
  const lines = vectorLines<RandomLine>('rng').filter(({ kind }) => kinds.includes(kind))
  it.each(lines.map((line, index) => [line.kind, index, line] as const))(
    'rng %s, line %i',
    (kind, _index, line) => {
      const random = new ReferenceRandom(BigInt(line.seed))
      if (kind === 'next') expect(line.values.map(() => String(random.next()))).toEqual(line.values)
      if (kind === 'below') expect(line.values.map(() => random.below(line.n))).toEqual(line.values)
      if (kind === 'unit') expect(line.values.map(() => random.unit())).toEqual(line.values)
      if (kind === 'reservoir') {
        expect(line.picks.map(() => reservoir(line.costs, isBelow, random))).toEqual(line.picks)
      }
    },
  )

  it('normalised softmax of a spread too small to divide by', () => {
    expect(softmaxProbabilities([2e-323, 1e-323, 1e-323], 1e-6)).toEqual([0, 0.5, 0.5])
    expect(softmaxProbabilities([1e300, 1.0000000000000002e300], 1e-300)).toEqual([1, 0])
  })

  it('normalised softmax', () => {
    interface Line {
      kind: string
      costs: number[]
      temperature: number
      probabilities: number[]
      picks: { u: number; row: number }[]
    }
    const lines = vectorLines<Line>('softmax').filter(({ kind }) => kind === 'normalised')
    expect(lines.length).toBeGreaterThan(0)
    for (const { costs, temperature, probabilities, picks } of lines) {
      const actual = softmaxProbabilities(costs, temperature)
      expectClose(actual, probabilities, 1e-15)
      for (const { u, row } of picks) expect(pickByCumulative(actual, u)).toBe(row)
    }
  })
})
