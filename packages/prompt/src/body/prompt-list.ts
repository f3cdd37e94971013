import { PromptError } from '../errors.js'
import { nodeKinds } from './json-tape.js'
import type { JsonView } from './json-view.js'

/** A prompt that may be a list: of texts, of token ids, or of objects that hold texts. */
export interface PromptList {
  readonly kind: 'none' | 'texts' | 'ids' | 'objects'
  /** Nodes of the prompts, from the first. */
  readonly nodes: readonly number[]
}

const none: PromptList = { kind: 'none', nodes: [] }

/**
 * What stands under a key: a text, a list that starts with a text or an object, a list of ids or a list of such lists; `none` for what is
 * no list, which an engine may refuse. An empty list is an empty list of ids. Throws `PROMPT_TOKEN_INVALID`.
 */
export function promptListAt(view: JsonView, node: number, name: string): PromptList {
  if (view.isText(node)) return { kind: 'texts', nodes: [node] }
  if (view.isIds(node)) return { kind: 'ids', nodes: [node] }
  if (!view.isArray(node)) return none
  const { tape } = view
  const end = tape.next(node)
  const first = node + 1
  if (first === end) return { kind: 'ids', nodes: [node] }
  const nodes: number[] = []
  for (let child = first; child < end; child = tape.next(child)) nodes.push(child)
  if (view.isObject(first)) return { kind: 'objects', nodes }
  if (view.isText(first)) return { kind: 'texts', nodes }
  if (!view.isIds(first) && !view.isArray(first)) throw badToken(view, node, name)
  for (const [index, child] of nodes.entries()) {
    if (!view.isIds(child)) checkEmpty(view, child, `${name}[${index}]`)
  }
  return { kind: 'ids', nodes }
}

/** The ids of one list; a copy. Throws `PROMPT_TOKEN_INVALID`, also for what is no list. */
export function idsAt(view: JsonView, node: number, name: string): Uint32Array {
  if (!view.isIds(node)) {
    checkEmpty(view, node, name)
    return new Uint32Array(0)
  }
  const { ids } = view.tape
  const at = view.tape.extra(node)
  return ids.slice(at + 1, at + 1 + ids[at]!)
}

/** Ids of a list that `promptListAt` gave. */
export function countIds({ tape }: JsonView, node: number): number {
  return tape.kind(node) === nodeKinds.ids ? tape.ids[tape.extra(node)]! : 0
}

function checkEmpty(view: JsonView, node: number, name: string): void {
  if (!view.isArray(node) || view.tape.next(node) > node + 1) throw badToken(view, node, name)
}

/** The first element that is no id; a list whose numbers are all ids never comes here. */
function badToken(view: JsonView, node: number, name: string): PromptError {
  const { tape } = view
  if (!view.isArray(node)) {
    const value = view.shown(node)
    return new PromptError('PROMPT_TOKEN_INVALID', `${name}: ${value}, expected a list of token ids`, {
      details: { key: name, value },
    })
  }
  const end = tape.next(node)
  let index = 0
  let child = node + 1
  while (child < end && isId(view.wholeNumber(child))) {
    child = tape.next(child)
    index++
  }
  const value = child < end ? view.shown(child) : ''
  const expected = 'expected a whole number from 0 to 4294967295'
  return new PromptError('PROMPT_TOKEN_INVALID', `${name}: token ${value} at ${index}, ${expected}`, {
    details: { key: name, index, value },
  })
}

function isId(value: number | undefined): boolean {
  return value !== undefined && value <= 0xffff_ffff
}
