import type { JsonSchema } from '@router/sdk'
import { type Fault, type ConfigPath, showPath, showValue } from './issues.js'
import { namePattern } from './schema.js'
import { suggest } from './suggest.js'

/** A fault as a schema reports it: where, and in its own words what is wrong. */
export interface SchemaFault {
  readonly path: ConfigPath
  readonly message: string
}

/** What zod says of itself adds nothing to what is accepted; messages that an author wrote do. */
const wordsOfZod = /^(?:Invalid input|Invalid option|Too small|Too big)/u

/**
 * Says what a schema has against `root`: an unknown key, a missing one, or a value, each with what is accepted.
 * @param root the value that was checked
 * @param base path of `root` in the file
 */
export function explainFault(
  fault: SchemaFault,
  root: unknown,
  schema: JsonSchema,
  base: ConfigPath = [],
): Fault {
  const path = [...base, ...fault.path]
  const parentPath = fault.path.slice(0, -1)
  const key = fault.path.at(-1)
  const parent = valueAt(root, parentPath)
  const parents = schemasAt(schema, parentPath, schema).filter(
    ({ type }) => type === undefined || type === 'object',
  )
  const where = showPath(path.slice(0, -1))
  if (typeof key === 'string' && !parents.some((part) => allows(part, key)) && parents.length > 0) {
    const keys = parents.flatMap((part) => Object.keys(part.properties ?? {}))
    return {
      path,
      at: 'key',
      message: `unknown key ${showValue(key)} in ${where}`,
      value: valueAt(root, fault.path),
      accepted: keys.length === 0 ? 'no keys' : keys.join(', '),
      suggestion: suggest(key, keys),
    }
  }
  const places = schemasAt(schema, fault.path, schema)
  const accepted = describe(places, schema)
  if (key !== undefined && isMapping(parent) && !Object.hasOwn(parent, key)) {
    return {
      path,
      message: `missing key ${showValue(key)} in ${where}`,
      ...(accepted !== '' && { accepted }),
    }
  }
  const value = valueAt(root, fault.path)
  const words = places.flatMap((part) => [...(part.enum ?? []), ...('const' in part ? [part.const] : [])])
  const suggestion =
    typeof value === 'string'
      ? suggest(
          value,
          words.filter((word) => typeof word === 'string'),
        )
      : undefined
  const subject = typeof key !== 'string' ? showPath(path) : `key ${showValue(key)} in ${where}`
  return {
    path,
    message: `${subject} cannot be ${showValue(value)}${accepted !== '' && wordsOfZod.test(fault.message) ? '' : `: ${fault.message}`}`,
    value,
    ...(accepted !== '' && { accepted }),
    suggestion,
  }
}

/** What stands at a path of a value; `undefined` where nothing does. */
function valueAt(root: unknown, path: ConfigPath): unknown {
  let value = root
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<string | number, unknown>)[part]
  }
  return value
}

/** Drops missing keys that an unknown key beside them was meant to be. */
export function withoutEchoes(faults: readonly Fault[]): Fault[] {
  const nameOf = (path: ConfigPath): string => JSON.stringify(path)
  const meant = new Set(
    faults.flatMap(({ at, path, suggestion }) =>
      at === 'key' && suggestion !== undefined ? [nameOf([...path.slice(0, -1), suggestion])] : [],
    ),
  )
  return faults.filter(({ message, path }) => !message.startsWith('missing key') || !meant.has(nameOf(path)))
}

function isMapping(value: unknown): value is Record<string | number, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** True unless the schema is one of a mapping that names its keys, and `key` is none of them. */
function allows({ properties, additionalProperties }: JsonSchema, key: string): boolean {
  return properties === undefined || Object.hasOwn(properties, key) || additionalProperties !== false
}

/** The alternatives at a path other than null, one type each, without references and unions. Empty where the schema says nothing. */
function schemasAt(schema: JsonSchema, path: ConfigPath, root: JsonSchema): readonly JsonSchema[] {
  let places = alternatives(schema, root)
  for (const part of path) {
    places = places.flatMap(({ properties, additionalProperties, items }) => {
      const extra = typeof additionalProperties === 'object' ? additionalProperties : undefined
      const inner = typeof part === 'number' ? itemSchema(items, part) : (properties?.[part] ?? extra)
      return inner === undefined ? [] : alternatives(inner, root)
    })
  }
  return places
}

function itemSchema(items: JsonSchema['items'], index: number): JsonSchema | undefined {
  return Array.isArray(items) ? (items as readonly JsonSchema[])[index] : (items as JsonSchema | undefined)
}

function alternatives(schema: JsonSchema, root: JsonSchema): readonly JsonSchema[] {
  if (schema.$ref !== undefined) {
    const target = valueAt(root, schema.$ref.split('/').slice(1)) as JsonSchema | undefined
    return target === undefined ? [] : alternatives(target, root)
  }
  const branches = schema.anyOf ?? schema.oneOf ?? schema.allOf
  if (branches !== undefined) return branches.flatMap((branch) => alternatives(branch, root))
  if (schema.type === 'null') return []
  return typeof schema.type === 'object'
    ? schema.type.flatMap((type) => alternatives({ ...schema, type }, root))
    : [schema]
}

function describe(places: readonly JsonSchema[], root: JsonSchema): string {
  return [...new Set(places.map((place) => describeOne(place, root)).filter((text) => text !== ''))].join(
    ' or ',
  )
}

function describeOne(schema: JsonSchema, root: JsonSchema): string {
  if (schema.enum !== undefined) return schema.enum.map(showValue).join(', ')
  if ('const' in schema) return showValue(schema.const)
  switch (schema.type) {
    case 'number':
      return `a number${range(schema)}`
    case 'integer':
      return `an integer${range(schema)}`
    case 'boolean':
      return 'true or false'
    case 'string':
      return describeText(schema)
    case 'array': {
      if (Array.isArray(schema.items)) return describeTuple(schema.items as readonly JsonSchema[], root)
      const { items } = schema as { readonly items?: JsonSchema }
      const text = items === undefined ? '' : describe(alternatives(items, root), root)
      return text === '' ? 'a list' : `a list of: ${text}`
    }
    case 'object': {
      const keys = Object.keys(schema.properties ?? {})
      return keys.length === 0 ? 'a mapping' : `a mapping with keys of ${keys.join(', ')}`
    }
    default:
      return ''
  }
}

function describeTuple(items: readonly JsonSchema[], root: JsonSchema): string {
  return `a list of ${items.length}: ${items.map((item) => describe(alternatives(item, root), root)).join(', ')}`
}

function describeText({ pattern, minLength }: JsonSchema): string {
  if (pattern === namePattern.source) return "a name of letters, digits, '_', '.' and '-'"
  if (pattern !== undefined) return `a text matching ${pattern}`
  return minLength !== undefined && minLength > 0 ? 'a text that is not empty' : 'a text'
}

function range({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonSchema): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`
  const limits = [
    ...(minimum === undefined ? [] : [`>= ${minimum}`]),
    ...(exclusiveMinimum === undefined ? [] : [`> ${exclusiveMinimum}`]),
    ...(maximum === undefined ? [] : [`<= ${maximum}`]),
    ...(exclusiveMaximum === undefined ? [] : [`< ${exclusiveMaximum}`]),
  ]
  return limits.length === 0 ? '' : ` ${limits.join(' and ')}`
}
