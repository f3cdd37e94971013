import type { FigureRow, Timed, TimedRow } from '../harness/figure.js'
import { createSubject, promptOf } from './fleet.js'

const systemBlocks = 64
const ownBlocks = 16
const requestsOfRank = 4

/** What is in flight when the columns are written, and for whom. */
interface Scene {
  readonly ranks: number
  /** Ranks whose requests begin with the system prompt, as does the request that is projected. */
  readonly sharing: number
  /** Requests that end within the system prompt cut it into this many edges, on each sharing rank. Default 1. */
  readonly edges?: number
  /** A request comes and one goes before each projection. Default false. */
  readonly changes?: boolean
  /** Some ranks are overloaded, so that a dense copy of the others is kept. Default false. */
  readonly hasHoles?: boolean
  /** Prefills have a modelled duration and melt with time. Default false. */
  readonly melts?: boolean
}

function projectionsOf(scene: Scene): Timed {
  const { ranks, sharing, edges = 1, changes = false, hasHoles = false, melts = false } = scene
  const { ledger, table, clock } = createSubject(ranks, melts)
  const duration = melts ? { prefillDurationMs: 1e9 } : {}
  const step = Math.floor(ranks / sharing)
  let own = 1 << 20
  for (let row = 0; row < ranks; row++) {
    const slot = table.slotOfRow[row]!
    const isSharing = row % step === 0 && row / step < sharing
    for (let request = 0; request < requestsOfRank; request++) {
      const hashes = promptOf(isSharing ? systemBlocks : 0, own, ownBlocks)
      own += ownBlocks
      ledger.add({ requestId: `${row}-${request}`, slot, hashes, prefillTokens: 256, ...duration })
    }
    for (let edge = 1; isSharing && edge < edges; edge++) {
      const hashCount = (systemBlocks / edges) * edge
      ledger.add({ requestId: `${row}-end-${edge}`, slot, hashes: promptOf(systemBlocks, 0, 0), hashCount })
    }
  }
  const request = promptOf(systemBlocks, 1 << 19, systemBlocks)
  if (hasHoles) keepDenseCopy(table, ledger, request)
  ledger.project(request)
  expectCosts(ledger.table.columns.views.load!.decodeCostBlocks.subarray(0, ranks), sharing)
  const costs = (): Float64Array => table.columns.views.load!.decodeCostBlocks
  const coming = {
    requestId: 'a',
    slot: 0,
    hashes: promptOf(0, 1 << 18, ownBlocks),
    prefillTokens: 256,
    ...duration,
  }
  ledger.add({ ...coming, requestId: 'b' })
  let turn = 0
  return {
    perCall: 1,
    body: () => {
      turn = (turn + 1) | 0
      clock.ms++
      if (changes) {
        const row = (turn * 37) & (ranks - 1)
        coming.requestId = (turn & 1) === 0 ? 'a' : 'b'
        ledger.free(coming.requestId)
        coming.slot = table.slotOfRow[row]!
        ledger.add(coming)
      }
      ledger.project(request)
      return costs()[turn & (ranks - 1)]! | 0
    },
  }
}

/** Ranks with holes among them are copied once the holes have kept still for a few selections. */
function keepDenseCopy(
  table: ReturnType<typeof createSubject>['table'],
  ledger: ReturnType<typeof createSubject>['ledger'],
  request: Uint32Array,
): void {
  table.setOverloadedWorkers([2n, 5n])
  for (let selection = 0; selection < 8; selection++) {
    ledger.project(request)
    table.eligible.refresh()
  }
  if (!table.eligible.isMirrored) throw new Error('no dense copy is kept')
}

/** What a request of twice the system prompt adds: all of it, or half of it where the prompt is active. */
function expectCosts(costs: Float64Array, sharing: number): void {
  const active = requestsOfRank * ownBlocks
  const all = active + 2 * systemBlocks
  // On a sharing rank the prompt is active and half of the request is not new: the same sum.
  const wrong = costs.findIndex((cost) => cost !== all)
  if (wrong >= 0)
    throw new Error(`row ${wrong} costs ${costs[wrong]}, ${all} expected with ${sharing} sharing`)
}

function row(group: string, name: string, scene: Scene, atMost?: number): TimedRow {
  return {
    group,
    name,
    unit: 'us',
    countsBytes: true,
    ...(atMost === undefined ? {} : { reach: { atMost } }),
    setup: () => projectionsOf(scene),
  }
}

function rowsOf(ranks: number, few: number, all: number): readonly FigureRow[] {
  const group = `load columns of ${ranks.toLocaleString('en')} ranks`
  return [
    row(group, '8 ranks share the system prompt', { ranks, sharing: 8 }, few),
    row(group, 'every rank shares it', { ranks, sharing: ranks }, all),
    row(group, 'every rank shares it, in 4 pieces', { ranks, sharing: ranks, edges: 4 }, all),
    row(group, 'half of the ranks share it', { ranks, sharing: ranks / 2 }, all),
    row(group, 'half of the ranks share it, in 4 pieces', { ranks, sharing: ranks / 2, edges: 4 }, all),
    row(group, '8 share; a request comes and one goes each time', { ranks, sharing: 8, changes: true }),
    row(group, '8 share; a dense copy beside the columns', { ranks, sharing: 8, hasHoles: true }),
    row(group, '8 share; every prefill melts with time', { ranks, sharing: 8, melts: true }),
  ]
}

/** What the projection of a request of 128 blocks on every rank costs. */
export const columnRows: readonly FigureRow[] = [...rowsOf(1024, 2, 6), ...rowsOf(8192, 12, 45)]
