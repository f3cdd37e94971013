import type { ConfigIssue } from '@router/sdk'
import { type Node, type Scalar, isAlias, isMap, isScalar } from 'yaml'
import { z } from 'zod'
import { type Fault, maximumIssues, showValue, toIssue } from './issues.js'
import { readPlainScalar } from './plain-scalar.js'
import { type YamlSource, keyText, maximumDepth } from './yaml-source.js'

/** Values that aliases may expand to, over the whole file: what keeps an alias bomb harmless. */
const maximumAliasedValues = 100_000

/** The values of a file, and the faults that make it unreadable. */
export interface ReadResult {
  readonly value: unknown
  readonly issues: readonly ConfigIssue[]
}

/**
 * Gives types to the scalars of a file. Where `schema` wants a text, a plain scalar counts as its source text (`12`, `true`);
 * elsewhere it is null, a boolean, a number, or a bigint for an integer above 2^53 - 1. A key whose schema is nullish and
 * whose value is null is left out. Mappings have no prototype.
 */
export function readValues(source: YamlSource, schema: z.ZodType): ReadResult {
  const reader = new Reader(source)
  const value = source.root === undefined ? null : reader.read(source.root, schema, 0)
  return { value, issues: reader.issues }
}

class Reader {
  readonly issues: ConfigIssue[] = []
  readonly #source: YamlSource
  #aliasDepth = 0
  #aliasedValues = 0
  #isExhausted = false

  constructor(source: YamlSource) {
    this.#source = source
  }

  read(node: Node | null, schema: z.ZodType | undefined, depth: number): unknown {
    if (node === null) return null
    if (this.#aliasDepth > 0 && ++this.#aliasedValues > maximumAliasedValues) return null
    if (depth > maximumDepth) return this.#refuse(node, `nested deeper than ${maximumDepth} levels`)
    if (isAlias(node)) return this.#readAlias(node, schema, depth)
    if (isScalar(node)) return this.#readScalar(node, schema)
    if (node.tag !== undefined && !/^tag:yaml\.org,2002:(?:map|seq)$/u.test(node.tag))
      return this.#refuseTag(node)
    return isMap(node) ? this.#readMapping(node, schema, depth) : this.#readList(node, schema, depth)
  }

  #readAlias(node: Node, schema: z.ZodType | undefined, depth: number): unknown {
    const target = isAlias(node) ? this.#source.targets.get(node) : undefined
    this.#aliasDepth++
    const value = this.read(target ?? null, schema, depth + 1)
    this.#aliasDepth--
    if (this.#aliasDepth === 0 && this.#aliasedValues > maximumAliasedValues && !this.#isExhausted) {
      this.#isExhausted = true
      this.#refuse(node, `aliases expand to more than ${maximumAliasedValues} values`)
    }
    return value
  }

  #readMapping(node: Node, schema: z.ZodType | undefined, depth: number): unknown {
    const mapping: Record<string, unknown> = Object.create(null)
    for (const { key, value } of isMap(node) ? node.items : []) {
      const keyNode = (key ?? value ?? node) as Node
      const text = keyText(key, this.#source.targets)
      if (text === undefined) {
        this.#refuse(keyNode, 'a key must be a text, not a mapping or list')
        continue
      }
      if (text === '__proto__') {
        this.#refuse(keyNode, "the key '__proto__' names no setting")
        continue
      }
      if (Object.hasOwn(mapping, text)) {
        this.#refuse(keyNode, `duplicate key ${showValue(text)}`)
        continue
      }
      const valueSchema = schemaOfKey(schema, text)
      const read = this.read(value as Node | null, valueSchema, depth + 1)
      if (read === null && isNullish(valueSchema)) continue
      mapping[text] = read
    }
    return mapping
  }

  #readList(node: Node, schema: z.ZodType | undefined, depth: number): unknown {
    const list = withoutAbsence(schema)
    const element = list instanceof z.ZodArray ? (list.element as z.ZodType) : undefined
    const items = 'items' in node ? (node.items as Node[]) : []
    return items.map((item) => this.read(item, element, depth + 1))
  }

  #readScalar(node: Scalar, schema: z.ZodType | undefined): unknown {
    const text = String(node.value ?? '')
    const tag = node.tag?.replace('tag:yaml.org,2002:', '')
    const isText =
      tag === undefined ? node.type !== 'PLAIN' && node.type !== undefined : ['!', 'str'].includes(tag)
    if (isText) return text
    if (tag !== undefined && !['int', 'float', 'bool', 'null'].includes(tag)) return this.#refuseTag(node)
    const place = withoutAbsence(schema)
    const plain = readPlainScalar(text)
    if (place instanceof z.ZodString || place instanceof z.ZodEnum) {
      return plain.kind === 'null' && isNullish(schema) ? null : text
    }
    switch (plain.kind) {
      case 'null':
        return null
      case 'text':
        return tag === undefined ? text : this.#refuse(node, `'${text}' is no value of the tag !!${tag}`)
      case 'too-large':
        return this.#refuse(node, `integer ${text} is out of range`, 'integers from -2^63 to 2^64 - 1')
      case 'integer':
        return place instanceof z.ZodNumber ? asNumber(plain.value, place) : exact(plain.value)
      case 'float':
        // The schema of an integer would not tell 1.0 from 1; as a text it is refused with its spelling.
        return isInteger(place) ? text : plain.value
      default:
        return plain.value
    }
  }

  #refuseTag(node: Node): null {
    return this.#refuse(node, `the tag ${node.tag} has no meaning here`, 'no tag')
  }

  #refuse(node: Node, message: string, accepted?: string): null {
    if (this.issues.length >= maximumIssues) return null
    const fault: Fault = { code: 'ROUTER_CONFIG_PARSE', path: [], message, accepted }
    this.issues.push(toIssue(fault, this.#source, this.#source.positionOf(node)))
    return null
  }
}

function schemaOfKey(schema: z.ZodType | undefined, key: string): z.ZodType | undefined {
  const mapping = withoutAbsence(schema)
  if (mapping instanceof z.ZodObject)
    return Object.hasOwn(mapping.shape, key) ? mapping.shape[key] : undefined
  return mapping instanceof z.ZodRecord ? (mapping.valueType as z.ZodType) : undefined
}

/** The schema inside `optional` and `nullable`. */
function withoutAbsence(schema: z.ZodType | undefined): z.ZodType | undefined {
  let inner = schema
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable) inner = inner.unwrap() as z.ZodType
  return inner
}

function isNullish(schema: z.ZodType | undefined): boolean {
  return (
    schema !== undefined && schema.isOptional() && schema.isNullable() && withoutAbsence(schema) !== schema
  )
}

function isInteger(schema: z.ZodType | undefined): boolean {
  return schema instanceof z.ZodNumber && schema.format === 'safeint'
}

/** Counts beyond 2^53 - 1 are as good as that one: nobody waits for so many tokens. */
function asNumber(value: bigint, schema: z.ZodNumber): number {
  const largest = BigInt(Number.MAX_SAFE_INTEGER)
  return isInteger(schema) && value > largest ? Number.MAX_SAFE_INTEGER : Number(value)
}

function exact(value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}
