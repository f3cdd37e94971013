import { PromptError } from '../errors.js'
import type { BodyReading } from './body-reading.js'
import { type JsonView, absent } from './json-view.js'
import { idsAt } from './prompt-list.js'
import { notEmpty } from './read-request.js'
import { readSignedHash } from './signed-hash.js'

const u32 = 0xffff_ffff
const largestU64 = (1n << 64n) - 1n

type Prompt = Pick<BodyReading, 'route' | 'tokens' | 'hashes' | 'objectsByBlock'>

/**
 * Reads a request of the selection API; its root is an object. The forms of its prompt by rank: `mm_routing_info` with tokens, `token_ids`,
 * hashes; those of lower rank are not looked at. Route `nothing` where there is none. Throws `PROMPT_TOKEN_INVALID`,
 * `PROMPT_HASHES_INVALID`.
 */
export function readSelection(view: JsonView): BodyReading {
  const prompt = promptOf(view)
  return {
    endpoint: 'selection',
    ...prompt,
    model: notEmpty(view.text(view.find(0, 'model_name'))),
    allTokens: prompt.tokens?.length,
    prompts: 1,
    mediaParts: 0,
    mediaSpans: [],
    hasOwnTemplate: false,
    decodes: 1,
    truncateTokens: undefined,
    cacheSalt: notEmpty(view.text(view.find(0, 'cache_salt'))),
    loraName: notEmpty(view.text(view.find(0, 'lora_name'))),
    isEagle: view.flag(view.find(0, 'is_eagle')),
    previousResponseId: undefined,
    textBytes: 0,
  }
}

function promptOf(view: JsonView): Prompt {
  const routing = view.find(0, 'mm_routing_info')
  const routingIds = view.find(routing, 'routing_token_ids')
  if (routingIds !== absent) {
    const tokens = idsAt(view, routingIds, 'mm_routing_info.routing_token_ids')
    if (tokens.length > 0) return ofTokens(view, tokens, routing)
  }
  const tokenIds = view.find(0, 'token_ids')
  if (tokenIds !== absent) return ofTokens(view, idsAt(view, tokenIds, 'token_ids'), 0)
  const hashes = hashesOf(view)
  return {
    route: hashes === undefined ? 'nothing' : 'hashes',
    tokens: undefined,
    hashes,
    objectsByBlock: undefined,
  }
}

function ofTokens(view: JsonView, tokens: Uint32Array, owner: number): Prompt {
  const infos = view.find(owner, 'block_mm_infos')
  const objectsByBlock =
    infos === absent
      ? undefined
      : elements(view, infos, 'block_mm_infos').map((info) => objectsOf(view, info))
  return { route: 'tokens', tokens, hashes: undefined, objectsByBlock }
}

/** Objects of a block; their ranges do not count. */
function objectsOf(view: JsonView, info: number): bigint[] {
  const objects = view.find(info, 'mm_objects')
  if (objects === absent) return []
  return elements(view, objects, 'mm_objects').map((item) => {
    const hash = view.find(item, 'mm_hash')
    const value = view.bigWholeNumber(hash)
    if (value !== undefined && value <= largestU64) return value
    throw invalid('mm_hash', view.shown(hash === absent ? item : hash), 'a whole number of 64 bits, unsigned')
  })
}

function hashesOf(view: JsonView): BodyReading['hashes'] {
  const blocks = view.find(0, 'block_hashes')
  const chained = view.find(0, 'sequence_hashes')
  if (blocks === absent && chained === absent) return undefined
  if (chained === absent) throw invalid('sequence_hashes', undefined, 'as many hashes as block_hashes')
  const local = blocks === absent ? new Uint32Array(0) : wordsAt(view, blocks, 'block_hashes')
  const sequence = wordsAt(view, chained, 'sequence_hashes')
  if (blocks !== absent && local.length !== sequence.length)
    throw invalid(
      'sequence_hashes',
      `${sequence.length / 2} hashes`,
      `${local.length / 2}, as block_hashes has`,
    )
  const isl = view.find(0, 'isl_tokens')
  const promptTokens = view.wholeNumber(isl)
  const least = blocks === absent ? 0 : 1
  if (promptTokens === undefined || promptTokens < least || promptTokens > u32) {
    const value = isl === absent ? undefined : view.shown(isl)
    throw invalid('isl_tokens', value, `a whole number from ${least} to ${u32}`)
  }
  return { local, sequence, promptTokens }
}

/** Words of a list of signed hashes. */
function wordsAt(view: JsonView, node: number, name: string): Uint32Array {
  if (view.isIds(node)) {
    const ids = idsAt(view, node, name)
    return Uint32Array.from({ length: 2 * ids.length }, (_, word) => ((word & 1) === 0 ? ids[word >> 1]! : 0))
  }
  const hashes = elements(view, node, name)
  const words = new Uint32Array(2 * hashes.length)
  for (const [index, hash] of hashes.entries()) {
    if (
      view.isNumber(hash) &&
      readSignedHash(view.bytes, view.tape.start(hash), view.tape.end(hash), words, 2 * index)
    )
      continue
    throw invalid(`${name}[${index}]`, view.shown(hash), 'a whole number of 64 bits, signed')
  }
  return words
}

function elements(view: JsonView, node: number, name: string): number[] {
  if (!view.isArray(node)) throw invalid(name, view.shown(node), 'a list')
  const nodes: number[] = []
  for (let child = node + 1; child < view.tape.next(node); child = view.tape.next(child)) nodes.push(child)
  return nodes
}

function invalid(key: string, value: string | undefined, expected: string): PromptError {
  const found = value ?? 'missing'
  return new PromptError('PROMPT_HASHES_INVALID', `${key}: ${found}, expected ${expected}`, {
    details: { key, value, expected },
  })
}
