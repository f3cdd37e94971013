/** Why an event of a batch was dropped by a filter; such an event takes no event id. Labels of the drop counter. */
export const FILTER_REASONS = [
  'unsupported_ownership',
  'unknown_ownership',
  'ignored_event',
  'non_local_locality',
  'unknown_medium',
  'non_main_attention_kind',
  'unknown_kind',
  'non_main_attention_group',
  'unlearned_group_idx',
  'ambiguous_cache_namespace',
] as const

/** One of `FILTER_REASONS`. */
export type FilterReason = (typeof FILTER_REASONS)[number]

/** Why a store that passed the filters changes nothing; such an event takes an event id. */
export const NOOP_REASONS = ['repeated_hash', 'parent_is_own_block', 'block_size_mismatch'] as const

/** One of `NOOP_REASONS`. */
export type NoopReason = (typeof NOOP_REASONS)[number]

/**
 * Why an event cannot be read; such an event takes no event id. `missing_field:x` = the field is not there although it is
 * required, or its value is of a type that the field cannot have.
 */
export type UndecodableReason = 'bad_hash' | 'unknown_tag' | `missing_field:${EventField}`

/** Fields of an event, named as in its map form; `type` is the tag. */
export type EventField =
  | 'type'
  | 'block_hashes'
  | 'token_ids'
  | 'block_size'
  | 'medium'
  | 'lora_name'
  | 'cache_salt'
  | 'extra_keys'
  | 'block_mm_infos'
  | 'group_idx'
  | 'kv_cache_spec_kind'
  | 'locality'
  | 'ownership'
  | 'session_id'

/** Why an event that a peer or another program has normalised is refused; its id counts. */
export type RelayReason = 'unsupported_residency' | 'unknown_medium'

/** Why a message holds no batch. */
export type FrameFault = 'bad_frame_count' | 'bad_sequence' | 'bad_msgpack'

/** Why an event was not handed on. */
export type DropReason = FilterReason | NoopReason | UndecodableReason | RelayReason
