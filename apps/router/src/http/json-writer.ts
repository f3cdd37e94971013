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
  if (isList(value)) {
    let items = ''
    for (const inner of value) items += `${items === '' ? '' : ','}${writeJson(inner, textKey)}`
    return `[${items}]`
  }
  let fields = ''
  const add = (key: string, inner: JsonValue | undefined): void => {
    if (inner === undefined) return
    const isText = key === textKey && typeof inner === 'bigint'
    fields += `${fields === '' ? '' : ','}${quoted(key)}:${isText ? `"${inner}"` : writeJson(inner, textKey)}`
  }
  if (value instanceof Map) for (const [key, inner] of value) add(String(key), inner as JsonValue)
  else for (const key of Object.keys(value)) add(key, (value as Readonly<Record<string, JsonValue>>)[key])
  return `{${fields}}`
}

/** A key as JSON; nearly all are plain words. */
function quoted(key: string): string {
  return /^\w*$/.test(key) ? `"${key}"` : JSON.stringify(key)
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}
