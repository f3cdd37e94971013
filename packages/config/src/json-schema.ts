import { z } from 'zod'
import { fileSchema } from './schema.js'

/** A part of a JSON Schema, as far as this package reads it. */
export interface JsonSchema {
  readonly [keyword: string]: unknown
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly minLength?: number
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: JsonSchema | boolean
  /** A list of schemas for a list with a schema per position. */
  readonly items?: JsonSchema | readonly JsonSchema[]
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly $ref?: string
}

/** What a configuration may say for a zod schema. Parts that JSON cannot express accept anything. */
export function inputSchemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type === 'bigint') jsonSchema.type = 'integer'
      // The limits of exact integers are nobody's rule.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    },
  }) as JsonSchema
}

/** JSON Schema (draft 7) of the router-policy file, for editors: what `router-policy.schema.json` of this package holds. */
export function routerPolicyJsonSchema(): JsonSchema {
  return { ...(compact(inputSchemaOf(fileSchema)) as JsonSchema), minProperties: 1 }
}

/** Writes `anyOf: [T, null]` as one schema with two types, which editors complete better. */
function compact(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(compact)
  if (typeof part !== 'object' || part === null) return part
  const { anyOf, ...rest } = Object.fromEntries(
    Object.entries(part).map(([key, value]) => [key, compact(value)]),
  ) as JsonSchema
  const [schema, absent, ...more] = anyOf ?? []
  if (schema?.type === undefined || absent?.type !== 'null' || more.length > 0)
    return anyOf === undefined ? rest : { ...rest, anyOf }
  return {
    ...schema,
    ...rest,
    type: [schema.type, 'null'],
    ...(schema.enum !== undefined && { enum: [...schema.enum, null] }),
  }
}

/** Bytes of `router-policy.schema.json`: two spaces, lists of plain values on one line where they fit into 110 columns. */
export function routerPolicyJsonSchemaText(): string {
  const text = JSON.stringify(routerPolicyJsonSchema(), null, 2)
  const joined = text.replace(
    /^(.*)\[\s+([^[\]{}]+?)\s+\](,?)$/gmu,
    (whole, start: string, items: string, end: string) => {
      const line = `${start}[${items.replace(/\s*\n\s*/gu, ' ')}]${end}`
      return line.length <= 110 ? line : whole
    },
  )
  return `${joined}\n`
}
