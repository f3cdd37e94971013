import type { EndReason } from '@router/engine-sim'
import type { BlockNames } from './block-names.js'
import type { GenerationEnd, GenerationRequest } from './serving.js'

/** A request that the engine of a rank has not ended yet. */
export interface LiveRequest {
  readonly request: GenerationRequest
  /** Of the prompt and of what will be said. */
  readonly tokens: Uint32Array
  readonly names: BlockNames
  /** Tokens that are visible. */
  produced: number
  isGivenUp: boolean
}

/** How a generation is over, for an end that the engine gave it. */
export function endOf(reason: EndReason, { request, produced }: LiveRequest): [GenerationEnd, string?] {
  switch (reason) {
    case 'completed':
      // Cut where the model's context is full.
      return [produced < request.outputTokens.length ? 'length' : request.endsBy]
    case 'cancelled':
      return ['aborted']
    case 'prompt_exceeds_pool':
      return ['rejected', 'the prompt takes more blocks than the whole KV cache has']
    case 'prompt_exceeds_model_len':
      return ['rejected', 'the prompt is as long as the maximum model length, or longer']
    case 'prompt_exceeds_pass':
      return [
        'rejected',
        'without chunked prefill the prompt has to fit into one pass, and it has more tokens',
      ]
    case 'outputs_exceed_pool':
      return ['rejected', 'prompt and outputs together take more blocks than the whole KV cache has']
  }
}

/** Calls a function of the client. What it throws does not disturb the pass; it is thrown where nobody catches it. */
export function tell<Arguments extends unknown[]>(
  callback: ((...values: Arguments) => void) | undefined,
  ...values: Arguments
): void {
  try {
    callback?.(...values)
  } catch (error) {
    setImmediate(() => {
      throw error
    })
  }
}
