import { definePolicy, minimumCostPicker } from '@router/sdk'
import { z } from 'zod'

function countRequests(assumed) {
  return (_context, { count, load }, costs) => {
    for (let row = 0; row < count; row++)
      costs[row] = load.isAvailable[row] ? load.activeRequests[row] : assumed
  }
}

const leastBusy = definePolicy({
  type: 'least-busy',
  version: '0.1.0',
  stability: 'beta',
  roles: ['aggregated', 'decode'],
  affinity: 'advisory',
  parameters: z.strictObject({ assumed_requests: z.int().min(0).default(0) }),
  inputs: ['load'],
  create: ({ assumed_requests }, scope) => ({
    scorers: [{ name: 'requests', score: countRequests(assumed_requests) }],
    picker: minimumCostPicker(scope.random()),
  }),
})

export const policies = [leastBusy]
