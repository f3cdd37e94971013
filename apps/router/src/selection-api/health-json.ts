import type { PartitionHealth } from '../fleet/fleet-health.js'
import type { HealthCause } from '../fleet/health-causes.js'
import type { JsonValue } from '../http/json-writer.js'
import type { PredictionSums } from '../proxy/prediction-check.js'

/** Why something is not well. */
export function causesJson(causes: readonly HealthCause[]): JsonValue[] {
  return causes.map(({ code, scope, sinceMs, count, detail }) => ({
    code,
    scope,
    since: new Date(sinceMs).toISOString(),
    count,
    detail,
  }))
}

/** How partitions do. @param sums of predictions, where there are any */
export function partitionsJson(
  partitions: readonly PartitionHealth[],
  sums: readonly PredictionSums[] = [],
): JsonValue {
  return partitions.map(({ partition, workers, schedulable, mode, isComplete, ranks, blocks }) => ({
    model_name: partition.name.model,
    routing_group: partition.name.routingGroup,
    role: partition.name.role,
    workers,
    schedulable,
    index: { mode, complete: isComplete, ranks, blocks },
    queue: { pending: 0 },
    prediction: predictionJson(sums.filter(({ model }) => model === partition.name.model)),
  }))
}

function predictionJson(sums: readonly PredictionSums[]): JsonValue {
  return {
    predicted_tokens: sums.reduce((total, { predictedTokens }) => total + predictedTokens, 0),
    reused_tokens: sums.reduce((total, { reusedTokens }) => total + reusedTokens, 0),
  }
}
