/** What the kind of a group means for the router: only full attention follows the prefix. */
export type AttentionKind = 'main' | 'other' | 'unknown'

const KINDS: ReadonlyMap<string, AttentionKind> = new Map([
  ['full_attention', 'main'],
  ['mla_attention', 'main'],
  ['sink_full_attention', 'main'],
  ['sliding_window', 'other'],
  ['sliding_window_mla', 'other'],
  ['mamba', 'other'],
  ['chunked_local_attention', 'other'],
  ['encoder_only_attention', 'other'],
  ['cross_attention', 'other'],
])

/** The kind that an engine names; a name that no engine is known to use is `unknown`. */
export function attentionKindOf(name: string): AttentionKind {
  return KINDS.get(name) ?? 'unknown'
}
