import type { AddedToken } from './added-tokens.js'
import { type JsonObject, isObject, listOf } from './json-objects.js'

/** Ids that `add_special_tokens` puts around a prompt. */
export interface SpecialFrame {
  readonly before: readonly number[]
  readonly after: readonly number[]
}

// Their Python classes replace the post-processor of the file by one of their own, after these two settings.
const ownFrame = /^(?:Code)?Llama|^Gemma|^Cohere/

/**
 * What the post-processor of a `tokenizer.json` puts before and after a text; for the tokenizer classes that bring their own, what
 * `add_bos_token` (default true) and `add_eos_token` (default false) say. Throws an `Error` for a post-processor of another kind.
 */
export function specialFrameOf(
  postProcessor: unknown,
  config: JsonObject,
  specialTokens: Readonly<Record<string, string>>,
  addedTokens: readonly AddedToken[],
): SpecialFrame {
  const idsOf = (name: string): number[] =>
    addedTokens.filter(({ content }) => content === specialTokens[name]).map(({ id }) => id)
  if (ownFrame.test(String(config['tokenizer_class'])))
    return {
      before: config['add_bos_token'] === false ? [] : idsOf('bos_token'),
      after: config['add_eos_token'] === true ? idsOf('eos_token') : [],
    }
  return frameOf(postProcessor)
}

function frameOf(postProcessor: unknown): SpecialFrame {
  if (postProcessor === null || !isObject(postProcessor)) return { before: [], after: [] }
  const { type, processors, single, special_tokens: known, cls, sep } = postProcessor
  if (type === 'ByteLevel') return { before: [], after: [] }
  if (type === 'BertProcessing' || type === 'RobertaProcessing')
    return { before: [Number(listOf(cls)[1])], after: [Number(listOf(sep)[1])] }
  if (type === 'TemplateProcessing') return templateFrame(listOf(single), known)
  if (type !== 'Sequence') throw new Error(`post-processor ${JSON.stringify(type)}`)
  const frames = listOf(processors).map(frameOf)
  return {
    before: frames.toReversed().flatMap(({ before }) => before),
    after: frames.flatMap(({ after }) => after),
  }
}

function templateFrame(single: readonly unknown[], known: unknown): SpecialFrame {
  const before: number[] = []
  const after: number[] = []
  let side = before
  for (const item of single) {
    if (!isObject(item)) continue
    if (item['Sequence'] !== undefined) side = after
    const special = item['SpecialToken']
    if (!isObject(special) || !isObject(known)) continue
    const entry = known[String(special['id'])]
    if (isObject(entry)) side.push(...listOf(entry['ids']).map(Number))
  }
  return { before, after }
}
