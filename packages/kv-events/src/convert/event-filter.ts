import { HOST_PINNED } from '@router/kv-index'
import type { WireEvent } from '../decode/wire-event.js'
import type { FilterReason } from '../reasons.js'
import { attentionKindOf } from './attention-kinds.js'
import type { SourceMemory } from './source-memory.js'

/**
 * Why a readable event is dropped; absent = it passes. Learns the kind of a group from a store that names both.
 * @param tier of the event; -1 = its medium is unknown
 */
export function filterReason(
  event: WireEvent,
  tier: number,
  dpRank: number,
  memory: SourceMemory,
): FilterReason | undefined {
  const { kind, ownership, locality } = event
  if (ownership !== undefined) return ownership === 'kvcr' ? 'unsupported_ownership' : 'unknown_ownership'
  if (kind === 'ignored') return 'ignored_event'
  if (locality !== undefined && locality !== 'LOCAL') return 'non_local_locality'
  if (tier < 0) return 'unknown_medium'
  if (tier > HOST_PINNED) return undefined
  return attentionReason(event, dpRank, memory) ?? namespaceReason(event, dpRank, memory)
}

/** Only blocks of full attention follow the prefix. */
function attentionReason(event: WireEvent, dpRank: number, memory: SourceMemory): FilterReason | undefined {
  const { group, attentionKind } = event
  if (attentionKind !== undefined) {
    const kind = attentionKindOf(attentionKind)
    if (event.kind === 'stored' && group >= 0) memory.learnKind(dpRank, group, kind)
    if (kind === 'main') return undefined
    return kind === 'unknown' ? 'unknown_kind' : 'non_main_attention_kind'
  }
  if (group < 0) return undefined
  switch (memory.kindOf(dpRank, group)) {
    case 'main':
      return undefined
    case 'other':
      return 'non_main_attention_group'
    case 'unknown':
      return 'unknown_kind'
    default:
      return group === 0 ? undefined : 'unlearned_group_idx'
  }
}

/** A store that would inherit its salt from a hash that stands for two. */
function namespaceReason(event: WireEvent, dpRank: number, memory: SourceMemory): FilterReason | undefined {
  const inherits = event.kind === 'stored' && event.salt === undefined && event.hasParent
  return inherits && memory.isAmbiguous(dpRank, event.parentLow, event.parentHigh)
    ? 'ambiguous_cache_namespace'
    : undefined
}
