import type { GenerationRequest } from '../engine/serving.js'

/** A prompt with its images as the engine takes it. */
export type ImagePrompt = Required<Pick<GenerationRequest, 'promptTokens' | 'media'>>

/**
 * Puts `tokensPerImage` image tokens where the prompt has one for each of `identifiers`, in order, as vLLM does after tokenising. Image
 * tokens beyond them stay as they are.
 */
export function withImages(
  promptTokens: Uint32Array,
  imageToken: number | undefined,
  identifiers: readonly string[],
  tokensPerImage: number,
): ImagePrompt {
  if (identifiers.length === 0) return { promptTokens, media: [] }
  const tokens: number[] = []
  const media: { identifier: string; start: number; end: number }[] = []
  for (const token of promptTokens) {
    const identifier = token === imageToken ? identifiers[media.length] : undefined
    const start = tokens.length
    const count = identifier === undefined ? 1 : tokensPerImage
    for (let index = 0; index < count; index++) tokens.push(token)
    if (identifier !== undefined) media.push({ identifier, start, end: start + count })
  }
  return { promptTokens: Uint32Array.from(tokens), media }
}
