import type { z } from 'zod'

type Schema = z.core.$ZodType
/** A schema one step below another; `undefined` = it judges the same value, `anyKey` = every element of it. */
type Step = readonly [key: string | number | symbol | undefined, schema: Schema]

const anyKey = Symbol('any key')

/** The parameter names that the objects at `path` accept, in the order of the schema; empty when none stands there. */
export function acceptedNames(schema: Schema, path: readonly (string | number)[]): string[] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  if (def.type === 'object' && path.length === 0) return Object.keys(def.shape)
  const names = stepsBelow(schema).flatMap(([key, next]) => {
    if (key === undefined) return acceptedNames(next, path)
    return path.length > 0 && (key === anyKey || key === path[0]) ? acceptedNames(next, path.slice(1)) : []
  })
  return [...new Set(names)]
}

/** Path of the first object that lets unknown keys pass; `undefined` for a schema that is strict at every level. */
export function pathOfLooseObject(schema: Schema, seen = new Set<Schema>()): string[] | undefined {
  if (seen.has(schema)) return undefined
  seen.add(schema)
  const { def } = (schema as z.core.$ZodTypes)._zod
  if (def.type === 'object' && def.catchall?._zod.def.type !== 'never') return []
  for (const [key, next] of stepsBelow(schema)) {
    const path = pathOfLooseObject(next, seen)
    if (path !== undefined) return key === undefined ? path : [key === anyKey ? '*' : String(key), ...path]
  }
  return undefined
}

function stepsBelow(schema: Schema): readonly Step[] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'object':
      return Object.entries(def.shape)
    case 'array':
      return [[anyKey, def.element]]
    case 'record':
      return [[anyKey, def.valueType]]
    case 'tuple':
      return def.items.map((item, index): Step => [index, item])
    case 'union':
      return def.options.map((option): Step => [undefined, option])
    case 'pipe':
      return [[undefined, def.in._zod.def.type === 'transform' ? def.out : def.in]]
    case 'lazy':
      return [[undefined, def.getter()]]
    case 'optional':
    case 'nonoptional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'catch':
    case 'readonly':
      return [[undefined, def.innerType]]
    default:
      return []
  }
}
