import type { SelectionRequest } from '@router/core'
import type { SelectionError } from '@router/sdk'
import type { SelectionLine } from '../shapes/selection.js'
import type { Checks } from './checks.js'
import { probePolicy } from './probes.js'
import { type Kernel, emptyTable, withSelector } from './selectors.js'

type Rejection = Extract<SelectionLine, { kind: 'rank-rejection' }>
type Rules = ReadonlySet<Rejection['failingRules'][number]>

const subject = { workerId: 1n, dpRank: 0 }
const other = 2n
const place = { role: 'aggregated', conditionalDisaggregation: false } as const

/**
 * Builds a fleet in which exactly these rules fail for one rank, and asks the host why: by its row in an explanation where the
 * rank is known, and by pinning it.
 */
export function rankRejection(
  failing: Rules,
  expected: Rejection['expect'],
  kernel: Kernel,
  checks: Checks,
): void {
  const table = emptyTable(kernel)
  const taints = failing.has('requiredTaints') ? [] : ['needed']
  if (!failing.has('workerKnown')) {
    const dataParallelStartRank = failing.has('rankInRange') ? 1 : 0
    table.upsertWorker({ workerId: subject.workerId, dataParallelStartRank, taints })
  }
  table.upsertWorker({ workerId: other, taints: ['needed'] })
  table.setAvailableWorkers(failing.has('availability') ? [other] : [subject.workerId, other])
  table.setOverloadedWorkers(failing.has('overload') ? [subject.workerId] : [])
  const request: SelectionRequest = {
    mode: 'query',
    promptTokens: 16,
    blockSize: 16,
    requiredTaints: ['needed'],
    allowedWorkerIds: failing.has('allowlist') ? [other] : [subject.workerId, other],
    affinityTarget: failing.has('affinity') ? { workerId: other, dpRank: 0 } : undefined,
  }
  withSelector({ table, policy: probePolicy({ affinity: 'exclusive' }), place }, (selector) => {
    if (table.slotOf(subject.workerId, subject.dpRank) >= 0) {
      const { rows } = selector.explain(request)
      const row = rows.find(
        ({ workerId, dpRank }) => workerId === subject.workerId && dpRank === subject.dpRank,
      )
      checks.equal('expect', expected, row === undefined ? 'no row' : (row.rejection ?? null))
    }
    const { error } = selector.explain({ ...request, pinnedWorker: subject })
    checks.equal('expect of a pin', expected, error === undefined ? null : rejectionOf(error))
  })
}

function rejectionOf(error: SelectionError): unknown {
  if (error.code === 'ROUTER_PINNED_WORKER_NOT_ALLOWED') return 'WorkerNotAllowed'
  if (error.code === 'ROUTER_PINNED_WORKER_OVERLOADED') return 'WorkerOverloaded'
  return error.details['rejection'] ?? error.code
}
