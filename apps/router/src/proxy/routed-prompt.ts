import type { PromptReader, PromptReading } from '@router/prompt'
import type { FleetRequest } from '../fleet/fleet-request.js'
import type { RoutingFacts } from './routing-facts.js'

/** A reading as the fleet takes it (host.md 9.1, 14.2): blocks, content chunks, or both, and the load of all its prompts. */
export function fleetRequestOf(
  reading: PromptReading,
  { policyClass, priorityJump, strictPriority, expectedOutputTokens }: RoutingFacts,
  loraName: string | undefined,
  reader: Pick<PromptReader, 'overlapBlocks'>,
): FleetRequest {
  const { blocks, chunks, allTokens, exactness } = reading
  return {
    prompt: { blocks, promptTokens: allTokens, loraName },
    terms: {
      policyClass,
      priorityJump,
      strictPriority,
      expectedOutputTokens,
      chunks: chunks && {
        hashes: chunks,
        overlapBlocks: (matched) => reader.overlapBlocks(reading, matched),
      },
      isUnhashed: exactness === 'nothing',
    },
  }
}
