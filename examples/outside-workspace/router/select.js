// Loads the policy through the YAML file beside this one, and selects a worker with it.
import { fileURLToPath } from 'node:url'
import { createPolicyCatalog, loadRouterPolicy } from '@router/config'
import { WorkerTable, createSelector } from '@router/core'
import { defaultPolicy } from '@router/policy-default'

const path = fileURLToPath(new URL('router-policy.yaml', import.meta.url))
const catalog = createPolicyCatalog().withDefault(defaultPolicy)
const { bundle, routerDefaults } = await loadRouterPolicy({ catalog, path })

const table = new WorkerTable()
const activeRequests = { 1: 4, 2: 1, 3: 2 }
for (const [id, requests] of Object.entries(activeRequests)) {
  const workerId = BigInt(id)
  table.upsertWorker({ workerId })
  table.setLoad(table.slotOf(workerId, 0), 0, 30, requests)
}

const selector = createSelector({
  table,
  policy: bundle.roles.aggregated,
  role: 'aggregated',
  routerDefaults,
  entropy: () => 42n,
  nowMs: () => performance.now(),
})
const { workerId, dpRank, policy } = selector.select({ mode: 'tracked', promptTokens: 512, blockSize: 16 })
console.log(`loaded ${policy.type} ${policy.version} of ${policy.package} as '${policy.name}'`)
console.log(`selected worker ${workerId}, rank ${dpRank}`)
