import { pack } from 'msgpackr'

/** A float, also of a whole number. */
export class Float {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}

/** Bytes that stand in the output as they are. */
export class Raw {
  readonly bytes: readonly number[]
  constructor(...bytes: readonly number[]) {
    this.bytes = bytes
  }
}

/** Anything that `encode` takes; numbers are integers, a `Map` is a map. */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Float
  | Raw
  | Uint8Array
  | readonly Value[]
  | ReadonlyMap<string, Value>

/** Msgpack in the shortest forms, as engines write it; a bigint always takes nine bytes. */
export function encode(value: Value): Uint8Array {
  const out: number[] = []
  write(value, out)
  return Uint8Array.from(out)
}

/** A map of the fields that are there. */
export function map(fields: Readonly<Record<string, Value | undefined>>): ReadonlyMap<string, Value> {
  return new Map(Object.entries(fields).filter((entry): entry is [string, Value] => entry[1] !== undefined))
}

function write(value: Value, out: number[]): void {
  if (value === null) out.push(0xc0)
  else if (typeof value === 'boolean') out.push(value ? 0xc3 : 0xc2)
  else if (typeof value === 'number') integer(value, out)
  else if (typeof value === 'bigint') {
    out.push(value < 0n ? 0xd3 : 0xcf, ...bytesOf(BigInt.asUintN(64, value), 8))
  } else if (typeof value === 'string') {
    append(pack(value), out)
  } else if (value instanceof Float) {
    const view = new DataView(new ArrayBuffer(8))
    view.setFloat64(0, value.value)
    out.push(0xcb, ...new Uint8Array(view.buffer))
  } else if (value instanceof Raw) append(value.bytes, out)
  else if (value instanceof Uint8Array) {
    head(value.length, out, 0, 0, [0xc4, 0xc5, 0xc6])
    append(value, out)
  } else if (value instanceof Map) {
    head(value.size, out, 0x80, 16, [undefined, 0xde, 0xdf])
    for (const [key, inner] of value as ReadonlyMap<string, Value>) {
      write(key, out)
      write(inner, out)
    }
  } else {
    const list = value as readonly Value[]
    head(list.length, out, 0x90, 16, [undefined, 0xdc, 0xdd])
    for (const inner of list) write(inner, out)
  }
}

function integer(value: number, out: number[]): void {
  if (value >= 0 && value < 0x80) out.push(value)
  else if (value < 0 && value >= -32) out.push(value & 0xff)
  else if (value >= 0 && value < 2 ** 8) out.push(0xcc, value)
  else if (value >= 0 && value < 2 ** 16) out.push(0xcd, ...bytesOf(BigInt(value), 2))
  else if (value >= 0 && value < 2 ** 32) out.push(0xce, ...bytesOf(BigInt(value), 4))
  else if (value < 0 && value >= -(2 ** 7)) out.push(0xd0, value & 0xff)
  else if (value < 0 && value >= -(2 ** 15)) out.push(0xd1, ...bytesOf(BigInt.asUintN(16, BigInt(value)), 2))
  else if (value < 0 && value >= -(2 ** 31)) out.push(0xd2, ...bytesOf(BigInt.asUintN(32, BigInt(value)), 4))
  else write(BigInt(value), out)
}

function head(
  length: number,
  out: number[],
  short: number,
  shortLimit: number,
  [one, two, four]: [number | undefined, number, number],
): void {
  if (length < shortLimit) out.push(short + length)
  else if (one !== undefined && length < 2 ** 8) out.push(one, length)
  else if (length < 2 ** 16) out.push(two, ...bytesOf(BigInt(length), 2))
  else out.push(four, ...bytesOf(BigInt(length), 4))
}

function bytesOf(value: bigint, size: number): number[] {
  return Array.from({ length: size }, (_, index) => Number((value >> BigInt(8 * (size - 1 - index))) & 0xffn))
}

function append(bytes: Iterable<number>, out: number[]): void {
  for (const byte of bytes) out.push(byte)
}
