import type { PolicyDefinition } from '@router/sdk'

type Mapping = Readonly<Record<string, unknown>>

/** True for a plain mapping, the only thing that merges; arrays and other values replace. */
export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * RFC 7396 merge in which `null` is given a meaning by `resolveNull(path)`: the value to set, or `undefined` to drop the name.
 * Neither argument is changed.
 */
export function mergePatch(
  target: Mapping,
  change: Mapping,
  resolveNull: (path: readonly string[]) => unknown,
  path: readonly string[] = [],
): Mapping {
  const merged = new Map<string, unknown>(Object.entries(target))
  for (const [name, value] of Object.entries(change)) {
    const here = [...path, name]
    const old = Object.hasOwn(target, name) ? target[name] : undefined
    if (value === null) {
      const resolved = resolveNull(here)
      if (resolved === undefined) merged.delete(name)
      else merged.set(name, resolved)
    } else {
      merged.set(
        name,
        isMapping(value) ? mergePatch(isMapping(old) ? old : {}, value, resolveNull, here) : value,
      )
    }
  }
  return Object.fromEntries(merged)
}

/** Dotted names of everything a merge object sets; an empty mapping is a leaf. */
export function leafNames(change: Mapping, prefix = ''): string[] {
  return Object.entries(change).flatMap(([name, value]) => {
    const full = prefix === '' ? name : `${prefix}.${name}`
    return isMapping(value) && Object.keys(value).length > 0 ? leafNames(value, full) : [full]
  })
}

/** The value at a path, `undefined` when nothing is there. */
export function valueAt(root: unknown, path: readonly string[]): unknown {
  let value = root
  for (const name of path) value = isMapping(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return value
}

/** Whether the schema takes null at `path`: decided by trying it, so that any kind of schema will do. */
export function acceptsNull(
  schema: PolicyDefinition['parameters'],
  parameters: Mapping,
  path: readonly string[],
): boolean {
  const nested = path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), null) as Mapping
  const trial = mergePatch(parameters, nested, () => null)
  const result = schema.safeParse(trial)
  if (result.success) return true
  return !result.error.issues.some(
    (issue) => isWithin(issue.path, path) || (issue.code === 'invalid_union' && isWithin(path, issue.path)),
  )
}

/** Whether `path` is `root` or below it. */
function isWithin(path: readonly PropertyKey[], root: readonly PropertyKey[]): boolean {
  return root.every((name, index) => path[index] === name)
}
