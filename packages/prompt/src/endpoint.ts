/** The request forms that can be read, by the last part of their path; `selection` is the prompt of the selection API. */
export const promptEndpoints = [
  'chat',
  'completions',
  'responses',
  'messages',
  'count_tokens',
  'embeddings',
  'rerank',
  'score',
  'pooling',
  'tokenize',
  'detokenize',
  'selection',
] as const

/** One of `promptEndpoints`. */
export type PromptEndpoint = (typeof promptEndpoints)[number]
