type Schema = Readonly<Record<string, unknown>>

const deepest = 256
const mostSteps = 100_000

const formats: Readonly<Record<string, string>> = {
  date: '2024-01-01',
  time: '00:00:00Z',
  'date-time': '2024-01-01T00:00:00Z',
  duration: 'PT0S',
  email: 'a@example.com',
  hostname: 'example.com',
  ipv4: '127.0.0.1',
  ipv6: '::1',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
}

/** What a schema asks for that cannot be made up here. */
export class SchemaInstanceError extends Error {}

/**
 * A small value that a JSON schema accepts: required properties only, the fewest items, the first of several choices that is possible.
 * Throws `SchemaInstanceError` for what it cannot fulfil: `pattern`, `not`, references out of the schema, schemas that never end or are huge.
 */
export function schemaInstance(schema: unknown): unknown {
  return instanceOf(schema, { root: schema, steps: { left: mostSteps }, depth: 0, open: ['#'] })
}

/** Where in a schema we are. */
interface Place {
  readonly root: unknown
  /** Bounds the work, which references can multiply. */
  readonly steps: { left: number }
  readonly depth: number
  /** References that are being followed: a small value needs none inside itself. */
  readonly open: readonly string[]
}

function instanceOf(schema: unknown, from: Place): unknown {
  if (schema === true) return null
  if (schema === false) throw new SchemaInstanceError('a schema that is false accepts nothing')
  if (!isSchema(schema)) throw new SchemaInstanceError('a schema has to be an object or a boolean')
  if (from.depth > deepest) throw new SchemaInstanceError(`the schema is nested deeper than ${deepest}`)
  if (--from.steps.left < 0) throw new SchemaInstanceError(`the schema has more than ${mostSteps} parts`)
  const place = { ...from, depth: from.depth + 1 }
  if ('const' in schema) return schema['const']
  if (Array.isArray(schema['enum'])) {
    if (schema['enum'].length === 0) throw new SchemaInstanceError('an empty enum accepts nothing')
    return schema['enum'][0]
  }
  for (const key of ['pattern', 'not'])
    if (key in schema) throw new SchemaInstanceError(`'${key}' is not simulated`)
  if (typeof schema['$ref'] === 'string') {
    const [target, inside] = followed(schema, place)
    return instanceOf(target, inside)
  }
  if (Array.isArray(schema['allOf'])) {
    const { allOf, ...beside } = schema
    let inside: Place = place
    const parts = (allOf as unknown[]).map((part) => {
      const [target, after] = followed(part, inside)
      inside = after
      return target
    })
    return instanceOf(merged([beside, ...parts]), inside)
  }
  for (const key of ['anyOf', 'oneOf']) {
    const choices = schema[key]
    if (Array.isArray(choices)) return firstPossible(choices, without(schema, key), place)
  }
  return ofType(typeOf(schema), schema, place)
}

function without(schema: Schema, key: string): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== key))
}

function firstPossible(choices: readonly unknown[], beside: Schema, place: Place): unknown {
  let failure: unknown = new SchemaInstanceError('a choice among nothing accepts nothing')
  for (const choice of choices) {
    try {
      const [target, inside] = followed(choice, place)
      return instanceOf(merged([beside, target]), inside)
    } catch (error) {
      if (!(error instanceof SchemaInstanceError)) throw error
      failure = error
    }
  }
  throw failure
}

/** What a schema that is a reference stands for, merged with what it says beside it. */
function followed(schema: unknown, place: Place): [schema: unknown, inside: Place] {
  if (!isSchema(schema) || typeof schema['$ref'] !== 'string') return [schema, place]
  const reference = schema['$ref']
  if (place.open.includes(reference))
    throw new SchemaInstanceError(`'${reference}' is needed inside itself without end`)
  const inside = { ...place, open: [...place.open, reference] }
  const [target, deeper] = followed(referenced(reference, place.root), inside)
  return [merged([target, without(schema, '$ref')]), deeper]
}

function ofType(type: unknown, schema: Schema, place: Place): unknown {
  switch (type) {
    case 'object':
      return objectOf(schema, place)
    case 'array':
      return arrayOf(schema, place)
    case 'string':
      return stringOf(schema)
    case 'integer':
    case 'number':
      return numberOf(schema, type === 'integer')
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      throw new SchemaInstanceError(`unknown type ${JSON.stringify(type)}`)
  }
}

function typeOf(schema: Schema): unknown {
  const type = schema['type']
  if (Array.isArray(type)) return type[0]
  if (type !== undefined) return type
  if ('properties' in schema || 'required' in schema) return 'object'
  if ('items' in schema || 'prefixItems' in schema || 'minItems' in schema) return 'array'
  if ('minLength' in schema || 'maxLength' in schema || 'format' in schema) return 'string'
  if (
    ['minimum', 'maximum', 'multipleOf', 'exclusiveMinimum', 'exclusiveMaximum'].some((key) => key in schema)
  )
    return 'number'
  return 'object'
}

function objectOf(schema: Schema, place: Place): object {
  const properties = isSchema(schema['properties']) ? schema['properties'] : {}
  const required = Array.isArray(schema['required']) ? (schema['required'] as string[]) : []
  const others = schema['additionalProperties']
  const result: Record<string, unknown> = {}
  const add = (name: string) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : isSchema(others) ? others : true
    const value = instanceOf(property, place)
    Object.defineProperty(result, name, { value, enumerable: true, writable: true, configurable: true })
  }
  required.forEach(add)
  const least = Number(schema['minProperties'] ?? 0)
  for (const name of Object.keys(properties))
    if (Object.keys(result).length < least && !Object.hasOwn(result, name)) add(name)
  for (let index = 0; Object.keys(result).length < least; index++) add(`key${index}`)
  return result
}

function arrayOf(schema: Schema, place: Place): unknown[] {
  const prefix = Array.isArray(schema['prefixItems']) ? schema['prefixItems'] : []
  const least = Math.max(Number(schema['minItems'] ?? 0), 'contains' in schema ? 1 : 0)
  if (least > 10_000) throw new SchemaInstanceError(`minItems ${least} is more than 10000`)
  return Array.from({ length: least }, (_, index) =>
    instanceOf(prefix[index] ?? schema['contains'] ?? schema['items'] ?? true, place),
  )
}

function stringOf(schema: Schema): string {
  const format = schema['format']
  const formatted = typeof format === 'string' ? formats[format] : undefined
  if (formatted !== undefined) return formatted
  const least = Number(schema['minLength'] ?? 0)
  if (least > 100_000) throw new SchemaInstanceError(`minLength ${least} is more than 100000`)
  return 'a'.repeat(least)
}

function numberOf(schema: Schema, isInteger: boolean): number {
  const given = (key: string) => (typeof schema[key] === 'number' ? schema[key] : undefined)
  const [minimum, above] = [given('minimum'), given('exclusiveMinimum')]
  const [maximum, below] = [given('maximum'), given('exclusiveMaximum')]
  const step = given('multipleOf') ?? (isInteger ? 1 : undefined)
  const fits = (value: number) =>
    !(value < (minimum ?? -Infinity) || value > (maximum ?? Infinity)) &&
    !(value <= (above ?? -Infinity) || value >= (below ?? Infinity))
  const low = Math.max(minimum ?? -Infinity, above ?? -Infinity)
  const high = Math.min(maximum ?? Infinity, below ?? Infinity)
  const candidates =
    step === undefined
      ? [0, low, high, low + 1, high - 1, (low + high) / 2]
      : [
          0,
          Math.ceil(low / step) * step,
          (Math.floor(low / step) + 1) * step,
          Math.floor(high / step) * step,
          (Math.ceil(high / step) - 1) * step,
        ]
  const value = candidates.find((candidate) => Number.isFinite(candidate) && fits(candidate))
  if (value === undefined) throw new SchemaInstanceError('no number is within the limits of the schema')
  return value + 0
}

function referenced(reference: string, root: unknown): unknown {
  if (!reference.startsWith('#')) throw new SchemaInstanceError(`'${reference}' is outside the schema`)
  let found = root
  for (const part of reference.slice(1).split('/').slice(1)) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name))
      throw new SchemaInstanceError(`'${reference}' names nothing`)
    found = (found as Schema)[name]
  }
  return found
}

/** One schema that says what all say: properties and required add up, other keys of later ones win. */
function merged(parts: readonly unknown[]): unknown {
  if (parts.some((part) => part === false)) return false
  const schemas = parts.filter(isSchema)
  const result: Record<string, unknown> = Object.assign({}, ...schemas)
  const properties = schemas.map((part) => part['properties']).filter(isSchema)
  if (properties.length > 1) result['properties'] = Object.assign({}, ...properties)
  const required = schemas.flatMap((part) => (Array.isArray(part['required']) ? part['required'] : []))
  if (required.length > 0) result['required'] = [...new Set(required)]
  return result
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
