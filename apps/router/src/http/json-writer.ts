/** What can be written: 64-bit integers are `bigint`, a map is an object, and what is `undefined` is left out of objects. */
export type JsonValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | readonly JsonValue[]
  | ReadonlyMap<string | number, JsonValue>
  | { readonly [key: string]: JsonValue | undefined }

/**
 * JSON text in which integers of any size are numbers. Numbers that are not finite are written as `null`.
 * @param textKey integers behind this key are written as strings of digits
 */
export function writeJson(value: JsonValue, textKey?: string): string {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isList(value)) return `[${value.map((inner) => writeJson(inner, textKey)).join(',')}]`
  const entries = value instanceof Map ? [...value] : Object.entries(value)
  const written = entries.flatMap(([key, inner]) =>
    inner === undefined ? [] : `${JSON.stringify(String(key))}:${write(inner, key === textKey, textKey)}`,
  )
  return `{${written.join(',')}}`
}

function write(value: JsonValue, isText: boolean, textKey: string | undefined): string {
  return isText && typeof value === 'bigint' ? `"${value}"` : writeJson(value, textKey)
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}
