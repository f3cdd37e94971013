import { HttpError } from './http-error.js'
import type { JsonReader } from './json-reader.js'

/** Reads one value. */
export type Read<T> = (reader: JsonReader) => T

/** A field of an object. */
export interface Field<T> {
  readonly read: Read<T>
  readonly isRequired: boolean
}

/** A field that must be there, and is not `null`. */
export function required<T>(read: Read<T>): Field<T> {
  return { read, isRequired: true }
}

/** A field that may be absent or `null`, which are the same. */
export function optional<T>(read: Read<T>): Field<T | undefined> {
  return { read: (reader) => (reader.takeNull() ? undefined : read(reader)), isRequired: false }
}

type Fields<T> = { readonly [K in keyof T]-?: Field<T[K] | undefined> }

/**
 * Reads an object with these fields; unknown keys are skipped and counted. What is absent or `null` is left out of the result. Error:
 * `invalid_body`, also for a key that stands twice.
 */
export function objectOf<T extends object>(fields: Fields<T>): Read<T> {
  const byKey = new Map(Object.entries<Field<unknown>>(fields))
  const requiredKeys = [...byKey].filter(([, { isRequired }]) => isRequired).map(([key]) => key)
  return (reader) => {
    const result: Record<string, unknown> = {}
    const seen = new Set<string>()
    reader.object((key) => {
      const field = byKey.get(key)
      if (field === undefined) {
        reader.unknownKeys++
        reader.skip()
        return
      }
      if (seen.has(key)) throw reader.fault('a key once', `'${key}' again`)
      seen.add(key)
      const value = field.read(reader)
      if (value !== undefined) result[key] = value
    })
    const missing = requiredKeys.find((key) => !seen.has(key))
    if (missing !== undefined) throw new HttpError('invalid_body', `field '${missing}' is missing`)
    return result as T
  }
}

/** Reads a list of values. */
export function listOf<T>(read: Read<T>): Read<T[]> {
  return (reader) => {
    const values: T[] = []
    reader.list(() => values.push(read(reader)))
    return values
  }
}

/** Reads an object as a map, its keys read by `keyOf`, which returns `undefined` for a key that cannot be. The last of equal keys counts. */
export function mapOf<K, V>(
  keyOf: (key: string) => K | undefined,
  accepted: string,
  read: Read<V>,
): Read<Map<K, V>> {
  return (reader) => {
    const values = new Map<K, V>()
    reader.object((text) => {
      const key = keyOf(text)
      if (key === undefined) throw reader.fault(`a key that is ${accepted}`, `'${text}'`)
      values.set(key, read(reader))
    })
    return values
  }
}

/** Reads one of these words. */
export function oneOf<T extends string>(...words: readonly T[]): Read<T> {
  return (reader) => {
    const text = reader.string()
    const word = words.find((candidate) => candidate === text)
    if (word === undefined) throw reader.fault(`one of ${words.join(', ')}`, `'${text}'`)
    return word
  }
}

const largestU32 = 0xffff_ffff
const largestU64 = 0xffff_ffff_ffff_ffffn

export const text: Read<string> = (reader) => reader.string()
/** A text that is kept: of at most so many characters. */
export const textUpTo = (longest: number): Read<string> => {
  const accepted = `a text of at most ${longest} characters`
  return (reader) => {
    const value = reader.string()
    if (value.length > longest) throw reader.fault(accepted, `'${value}'`)
    return value
  }
}
export const flag: Read<boolean> = (reader) => reader.boolean()
/** Any finite number. */
export const double: Read<number> = (reader) => reader.double()
/** A finite number from `minimum` to `maximum`. */
export const doubleFrom = (minimum: number, maximum = Infinity): Read<number> => {
  const accepted = maximum === Infinity ? `a number >= ${minimum}` : `a number from ${minimum} to ${maximum}`
  return (reader) => {
    const value = reader.double()
    if (!(value >= minimum && value <= maximum)) throw reader.fault(accepted, String(value))
    return value
  }
}
export const u32: Read<number> = (reader) => reader.integer(0, largestU32)
/** A count that a double holds exactly. */
export const count: Read<number> = (reader) => reader.integer(0, Number.MAX_SAFE_INTEGER)
/** A worker id: an unsigned 64-bit integer, as a number or as a string of digits. */
export const workerId: Read<bigint> = (reader) => reader.bigint(0n, largestU64, true)
/** A 64-bit hash, signed or not. */
export const hash: Read<bigint> = (reader) => reader.bigint(-(1n << 63n), largestU64)
export const u32List: Read<Uint32Array<ArrayBuffer>> = (reader) => reader.u32List()
export const i64Words: Read<Uint32Array<ArrayBuffer>> = (reader) => reader.i64Words()
