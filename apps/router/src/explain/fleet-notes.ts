import { requestBlocks } from '@router/sdk'
import { ranksOf } from './described-fleet.js'
import type { Fleet } from './fleet-schema.js'

/** What a fleet file may say, but hardly means. */
export function fleetNotes(fleet: Fleet): string[] {
  const blocks = requestBlocks(fleet.request.prompt_tokens, fleet.block_size)
  const [first, ...others] = ranksOf(fleet).filter(({ state: { overlap } }) => {
    return (
      typeof overlap === 'object' && overlap !== null && overlap.device + overlap.host + overlap.disk > blocks
    )
  })
  if (first === undefined) return []
  const rest = others.length === 0 ? '' : ` and ${counted(others.length, 'other rank')}`
  return [
    `overlap of ${first.workerId}.${first.dpRank}${rest}: more blocks than the ${blocks} that the request has`,
  ]
}

/** `1 rank`, `2 ranks`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
