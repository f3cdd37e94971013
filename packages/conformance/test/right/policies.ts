import {
  type CandidateRows,
  type CandidatesFor,
  RequestFault,
  type WorkerPicker,
  definePolicy,
  minimumCostPicker,
  nonNegative,
  softmaxPicker,
  u64,
} from '@router/sdk'
import { z } from 'zod'

const base = { version: '1.2.3', stability: 'stable', affinity: 'advisory' } as const

/** The smallest useful policy: no parameters, one scorer, the SDK's picker. */
export const leastBusy = definePolicy({
  ...base,
  type: 'least-busy',
  roles: ['aggregated', 'decode'],
  parameters: z.strictObject({}),
  inputs: ['load'],
  create: (_parameters, scope) => ({
    scorers: [
      {
        name: 'active-requests',
        score: (_context, { count, load }, costs) => {
          for (let row = 0; row < count; row++)
            costs[row] = load.isAvailable[row] === 1 ? load.activeRequests[row]! : 0
        },
      },
    ],
    picker: minimumCostPicker(scope.random()),
  }),
})

const weightedParameters = z.strictObject({
  cache_weight: nonNegative().default(0),
  taint_weight: nonNegative().default(1),
  temperature: nonNegative().default(0.5),
  seed: u64().optional(),
  limits: z.strictObject({ max_requests: z.int().min(1).nullable().default(null) }).prefault({}),
})
type WeightedParameters = z.output<typeof weightedParameters>
const withoutCache = ['load', 'preferredTaint', 'capacity'] as const
const withCache = ['load', 'preferredTaint', 'capacity', 'cache'] as const
type WeightedCandidates = CandidatesFor<typeof withoutCache | typeof withCache>

/** Uses what the contract offers: filter, two scorers, patches, inputs that depend on parameters, scratch, a sampled pick. */
export const weighted = definePolicy({
  ...base,
  type: 'weighted',
  roles: ['aggregated', 'prefill', 'encode'],
  affinity: 'exclusive',
  parameters: weightedParameters,
  runtime: ['cache_weight', 'taint_weight', 'limits.max_requests'],
  inputs: ({ cache_weight }, scope) =>
    cache_weight !== 0 || scope.reservesRuntimeInputs ? withCache : withoutCache,
  create: (parameters, scope) => {
    let current = parameters
    const scratch = scope.memory.allocate(8)
    return {
      filters: [
        {
          name: 'request-limit',
          keep: (_context, { load, count }, row) => {
            const limit = current.limits.max_requests
            return (
              limit === null ||
              count === 1 ||
              load.isAvailable[row] === 0 ||
              load.activeRequests[row]! <= limit
            )
          },
        },
      ],
      scorers: [
        {
          name: 'blocks',
          score: (context, candidates: WeightedCandidates, costs) => {
            for (let row = 0; row < candidates.count; row++)
              costs[row] = blockCost(current, context, candidates, row)
          },
        },
        {
          name: 'above-mean',
          inputs: ['load'],
          score: (_context, { count, canonicalRows, load }, costs) => {
            let sum = 0
            for (let index = 0; index < count; index++) {
              const row = canonicalRows === undefined ? index : canonicalRows[index]!
              sum += load.isAvailable[row] === 1 ? load.activePrefillTokens[row]! : 0
            }
            scratch.float64[0] = sum / count
            for (let row = 0; row < count; row++) {
              const tokens = load.isAvailable[row] === 1 ? load.activePrefillTokens[row]! : 0
              costs[row] = (tokens - scratch.float64[0]!) / 1000
            }
          },
        },
      ],
      picker: softmaxPicker(scope.random(parameters.seed), parameters.temperature + 0.01),
      reconfigure: (changed) => {
        current = changed
      },
    }
  },
})

function blockCost(
  parameters: WeightedParameters,
  context: { readonly requestBlocks: number },
  { load, cache, preferredTaint, capacity }: WeightedCandidates,
  row: number,
): number {
  const resident = load.isAvailable[row] === 1 ? load.decodeCostBlocks[row]! : 0
  const total = capacity.totalKvBlocks[row]!
  const fullness = total > 0 ? resident / total : 0
  const cached =
    parameters.cache_weight !== 0 && cache !== undefined && cache.isAvailable[row] === 1
      ? parameters.cache_weight * Math.min(cache.deviceOverlapBlocks[row]!, context.requestBlocks)
      : 0
  const base = resident + context.requestBlocks + fullness - cached
  return preferredTaint.applies ? base * preferredTaint.multiplier[row]! ** parameters.taint_weight : base
}

/** State of its own: a rotation over workers that survives hand-over, and a session table that forgets workers that left. */
export const rotating = definePolicy({
  ...base,
  type: 'rotating',
  roles: ['aggregated'],
  parameters: z.strictObject({ max_sessions: z.int().min(1).default(4) }),
  inputs: [],
  create: ({ max_sessions }) => {
    let rotation = 0
    const sessions = new Map<string, bigint>()
    const picker: WorkerPicker<CandidateRows> = {
      name: 'rotation',
      pick: ({ pinnedWorker, sessionContext, queryOnly }, { count, canonicalRows, workerId }) => {
        if (pinnedWorker !== undefined) return 0
        const session = sessionContext?.sessionId
        const bound = session === undefined ? undefined : sessions.get(session)
        const rows = Array.from({ length: count }, (_unused, index) => canonicalRows?.[index] ?? index)
        const row = rows.find((candidate) => workerId(candidate) === bound) ?? rows[rotation % count]!
        if (queryOnly) return row
        rotation = (rotation + 1) % 2 ** 32
        if (session === undefined) return row
        sessions.delete(session)
        sessions.set(session, workerId(row))
        if (sessions.size > max_sessions) sessions.delete(sessions.keys().next().value!)
        return row
      },
    }
    return {
      picker,
      onWorkersChanged: (workers) => {
        for (const [session, workerId] of sessions) {
          if (!workers.some((worker) => worker.workerId === workerId)) sessions.delete(session)
        }
      },
      observe: ({ sessionId, status }) => {
        if (sessionId !== undefined && status === 'failed') sessions.delete(sessionId)
      },
      snapshot: () => ({
        version: 1,
        rotation,
        sessions: [...sessions].map(([id, worker]) => [id, String(worker)]),
      }),
      restore: (value) => {
        const state = snapshotSchema.parse(value)
        rotation = state.rotation
        sessions.clear()
        for (const [session, workerId] of state.sessions) sessions.set(session, BigInt(workerId))
      },
      dispose: () => sessions.clear(),
    }
  },
})

const snapshotSchema = z.strictObject({
  version: z.literal(1),
  rotation: z.int(),
  sessions: z.array(z.tuple([z.string(), z.string()])),
})

/** Refuses requests that it cannot serve, blaming the request. */
export const pinnedOnly = definePolicy({
  ...base,
  type: 'pinned-only',
  roles: ['decode'],
  parameters: z.strictObject({ reason: z.string() }),
  inputs: ['occupancy', 'prefillTime'],
  create: ({ reason }) => ({
    picker: {
      name: 'pinned-only',
      pick: ({ pinnedWorker }) => {
        if (pinnedWorker === undefined) throw new RequestFault(reason)
        return 0
      },
    },
  }),
})
