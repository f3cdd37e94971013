import { type JsonSchema, inputSchemaOf } from '@router/sdk'
import { fileSchema } from './schema.js'

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
