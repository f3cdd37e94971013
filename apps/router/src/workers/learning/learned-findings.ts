import type { FleetWorkers } from '../../fleet/fleet-workers.js'
import type { Finding } from '../../fleet/health-causes.js'

/** What is doubtful about what engines told, a worker each. `O(workers)`. */
export function learnedFindings(workers: FleetWorkers): Finding[] {
  return workers.list().flatMap(({ registration, provenance, facts }): Finding[] => {
    if (facts === undefined) return []
    const { workerId, blockSize, maxNumBatchedTokens } = registration
    const scope = String(workerId)
    const findings: Finding[] = []
    if (provenance.blockSize === 'assumed') {
      const detail = `worker ${scope} does not say its block size: ${blockSize} is assumed`
      findings.push({ code: 'block_size_assumed', scope, detail })
    }
    if (facts.isCapacitySuspicious === true && provenance.maxNumBatchedTokens === 'learned') {
      const detail = `worker ${scope} says that a pass takes ${maxNumBatchedTokens} tokens, which is its whole pool`
      findings.push({ code: 'capacity_suspicious', scope, detail })
    }
    return findings
  })
}
