import { type ConfigIssue, ConfigError } from '@router/sdk'
import {
  type Alias,
  type CST,
  Composer,
  type Document,
  LineCounter,
  type Node,
  type Pair,
  Parser,
  type YAMLMap,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  visit,
} from 'yaml'
import { type ConfigPath, formatIssues, maximumIssues } from './issues.js'

/** 1-based. */
export interface SourcePosition {
  readonly line: number
  readonly column: number
}

/** A parsed file: its nodes, and where each stands in the text. */
export interface YamlSource {
  readonly file: string
  /** `undefined` for a file without content. */
  readonly root: Node | undefined
  /** What each alias stands for. */
  readonly targets: ReadonlyMap<Alias, Node>
  /** Position of a node. */
  readonly positionOf: (node: Node) => SourcePosition
  /** Position of the longest part of `path` that exists; `at: 'key'` asks for the last key rather than what it holds. */
  readonly locate: (path: ConfigPath, at?: 'key' | 'value') => SourcePosition
}

/** Collections inside collections that a file may have, aliases included. */
export const maximumDepth = 64

/**
 * Parses the one document of `text`, without giving types to scalars. Error: `ROUTER_CONFIG_PARSE` with all faults of syntax.
 * @param file name for messages
 */
export function parseYaml(text: string, file: string): YamlSource {
  const lines = new LineCounter()
  const tokens = [...new Parser(lines.addNewLine).parse(text)]
  const position = (offset: number): SourcePosition => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }
  const fail = (offset: number, message: string): ConfigIssue => ({
    code: 'ROUTER_CONFIG_PARSE',
    message,
    path: [],
    file,
    ...position(offset),
  })
  const tooDeep = tokens.map(offsetBeyondDepth).find((offset) => offset !== undefined)
  if (tooDeep !== undefined) throwParse([fail(tooDeep, `nested deeper than ${maximumDepth} levels`)])

  const composer = new Composer({ schema: 'failsafe', uniqueKeys: false, merge: false, logLevel: 'silent' })
  const documents: Document[] = [...composer.compose(tokens)]
  const [document, second] = documents
  const syntax = documents.flatMap(({ errors }) => errors)
  throwParse(syntax.slice(0, maximumIssues).map((error) => fail(error.pos[0], error.message)))
  if (second !== undefined) {
    const issue = fail(second.range?.[0] ?? 0, 'the file holds several documents')
    throwParse([{ ...issue, accepted: 'one document' }])
  }
  const root = document?.contents ?? undefined
  const { targets, faults } = resolveAliases(document)
  throwParse(faults.slice(0, maximumIssues).map(({ node, message }) => fail(node.range?.[0] ?? 0, message)))
  const positionOf = (node: Node): SourcePosition => position(node.range?.[0] ?? 0)
  return { file, root, targets, positionOf, locate: locator(root, targets, positionOf) }
}

function throwParse(issues: readonly ConfigIssue[]): void {
  if (issues.length > 0) throw new ConfigError('ROUTER_CONFIG_PARSE', formatIssues(issues), issues)
}

/** Offset of the first collection nested too deep. Iterative: composing a deeper file would exhaust the stack. */
function offsetBeyondDepth(root: CST.Token): number | undefined {
  const pending: { token: CST.Token; depth: number }[] = [{ token: root, depth: 0 }]
  for (let entry = pending.pop(); entry !== undefined; entry = pending.pop()) {
    const { token, depth } = entry
    if (depth > maximumDepth) return token.offset
    if (token.type === 'document' && token.value !== undefined) pending.push({ token: token.value, depth })
    if (!('items' in token)) continue
    for (const { key, value } of token.items) {
      if (key) pending.push({ token: key, depth: depth + 1 })
      if (value) pending.push({ token: value, depth: depth + 1 })
    }
  }
  return undefined
}

/** Binds each alias to the latest anchor of its name before it, in one pass over the document. */
function resolveAliases(document: Document | undefined) {
  const anchors = new Map<string, Node>()
  const targets = new Map<Alias, Node>()
  const faults: { node: Node; message: string }[] = []
  visit(document ?? null, {
    Node: (_key, node, ancestors) => {
      if (!isAlias(node)) {
        if (node.anchor !== undefined) anchors.set(node.anchor, node)
        return
      }
      const target = anchors.get(node.source)
      if (target === undefined) faults.push({ node, message: `unknown anchor '${node.source}'` })
      else if (ancestors.includes(target))
        faults.push({ node, message: `anchor '${node.source}' contains itself` })
      else targets.set(node, target)
    },
  })
  return { targets, faults }
}

/** Text of a mapping key, or `undefined` for a key that is a collection. */
export function keyText(key: unknown, targets: ReadonlyMap<Alias, Node>): string | undefined {
  const node = isAlias(key) ? targets.get(key) : key
  if (node === null || node === undefined) return ''
  return isScalar(node) ? String(node.value ?? '') : undefined
}

function locator(
  root: Node | undefined,
  targets: ReadonlyMap<Alias, Node>,
  positionOf: (node: Node) => SourcePosition,
) {
  const indexes = new WeakMap<YAMLMap, Map<string, Pair>>()
  const pairOf = (mapping: YAMLMap, key: string | number): Pair | undefined => {
    let index = indexes.get(mapping)
    if (index === undefined) {
      // Of a repeated key the first counts.
      const entries = mapping.items.map((pair): [string, Pair] => [keyText(pair.key, targets) ?? '', pair])
      index = new Map(entries.reverse())
      indexes.set(mapping, index)
    }
    return index.get(String(key))
  }
  return (path: ConfigPath, at: 'key' | 'value' = 'value'): SourcePosition => {
    let place = root
    let node = root
    for (const [index, part] of path.entries()) {
      const collection = isAlias(node) ? targets.get(node) : node
      const isLast = index === path.length - 1
      if (isMap(collection)) {
        const pair = pairOf(collection, part)
        if (pair === undefined) break
        const isEmpty = pair.value === null || (isScalar(pair.value) && pair.value.source === '')
        place = ((isLast && at === 'key') || isEmpty ? pair.key : pair.value) as Node
        node = pair.value as Node
      } else if (isSeq(collection) && typeof part === 'number' && collection.items[part] !== undefined) {
        node = collection.items[part] as Node
        place = node
      } else break
    }
    return place === undefined ? { line: 1, column: 1 } : positionOf(place)
  }
}
