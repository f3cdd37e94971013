import { engineObjectHash } from '@router/kv-index'
import type { BlockObjects } from './wire-event.js'

const NO_OBJECTS: BlockObjects = []
const SALT_PREFIX = 'dynamo-cache-salt:'

/** Objects by block of the extra keys; absent when they are no list of lists and nils. */
export function objectsOfKeys(extraKeys: unknown): BlockObjects[] | undefined {
  if (!Array.isArray(extraKeys)) return undefined
  const objects: BlockObjects[] = []
  for (const keys of extraKeys) {
    if (keys === null) objects.push(NO_OBJECTS)
    else if (Array.isArray(keys)) objects.push(keys.map(objectOfKey).filter((id) => id !== undefined))
    else return undefined
  }
  return objects
}

/** The salt in the keys of the first block; absent = none. `extraKeys` has passed `objectsOfKeys`. */
export function saltOfKeys(extraKeys: unknown, loraName: string | undefined): string | undefined {
  const keys: unknown = (extraKeys as readonly unknown[])[0]
  if (!Array.isArray(keys)) return undefined
  const lora = loraName === undefined ? -1 : keys.indexOf(loraName)
  for (const [index, key] of keys.entries()) {
    if (index === lora || typeof key !== 'string' || !key.startsWith(SALT_PREFIX)) continue
    if (key.length > SALT_PREFIX.length) return key.slice(SALT_PREFIX.length)
  }
  return undefined
}

/** Objects by block of `block_mm_infos`; absent when they are not of its shape. */
export function objectsOfInfos(infos: unknown): BlockObjects[] | undefined {
  if (!Array.isArray(infos)) return undefined
  const objects: BlockObjects[] = []
  for (const info of infos) {
    if (info === null) {
      objects.push(NO_OBJECTS)
      continue
    }
    const list: unknown = info instanceof Map ? info.get('mm_objects') : undefined
    if (!Array.isArray(list)) return undefined
    const ids = list.map((object) => (object instanceof Map ? idOf(object.get('mm_hash')) : undefined))
    if (!ids.every((id) => id !== undefined)) return undefined
    objects.push(ids)
  }
  return objects
}

/** The object that a key names, alone or as `[key, offset]`; absent = none. */
function objectOfKey(key: unknown): bigint | undefined {
  const isPair = Array.isArray(key) && key.length === 2 && isInteger(key[1])
  const name: unknown = isPair ? key[0] : key
  return typeof name === 'string' ? engineObjectHash(name) : undefined
}

function idOf(value: unknown): bigint | undefined {
  return isInteger(value) ? BigInt.asUintN(64, BigInt(value)) : undefined
}

function isInteger(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}
