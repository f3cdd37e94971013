import type { z } from 'zod'
import type { RawLine } from './family.js'

/** Recognises lines by the `kind` of a discriminated union; no two families share one. */
export function kindsOf(schema: z.ZodDiscriminatedUnion): (line: RawLine) => boolean {
  const kinds = new Set(
    schema.options.flatMap((option) => [
      ...(option as z.ZodObject<{ kind: z.ZodLiteral }>).shape.kind.values,
    ]),
  )
  return (line) => kinds.has(line['kind'] as string)
}
