/** Containers inside one another that a payload may hold; engines use at most nine. */
const MAX_DEPTH = 32

const STRING_8 = 0xd9
const NEVER_USED = 0xc1

/** Bytes of a value by its first byte, where that byte tells; 0 = it does not, or the value is a container. */
const SIZES = sizesByMarker()
/** 1 = floats and extensions, which no field of an event takes. */
const OPAQUE = opaqueMarkers()

function sizesByMarker(): Uint8Array {
  const sizes = new Uint8Array(256)
  sizes.fill(1, 0x00, 0x80)
  for (let length = 0; length < 32; length++) sizes[0xa0 + length] = 1 + length
  sizes.fill(1, 0xe0)
  sizes[0x80] = 1
  sizes[0x90] = 1
  sizes.set([1, 0, 1, 1], 0xc0)
  sizes.set([5, 9, 2, 3, 5, 9, 2, 3, 5, 9, 3, 4, 6, 10, 18], 0xca)
  return sizes
}

function opaqueMarkers(): Uint8Array {
  const opaque = new Uint8Array(256)
  opaque.fill(1, 0xc7, 0xcc)
  opaque.fill(1, 0xd4, 0xd9)
  return opaque
}

/**
 * Finds the end of a msgpack value without making it. Work is proportional to the bytes walked, whatever lengths they declare; no
 * recursion.
 */
export class MsgpackWalk {
  /** Start and end of every float and extension in the value last walked, pair after pair. */
  readonly opaque: number[] = []
  readonly #left = new Float64Array(MAX_DEPTH + 1)

  /** Position behind the value at `start`; -1 = truncated before `end`, nested too deep, or no msgpack. */
  end(bytes: Uint8Array, start: number, end: number): number {
    const left = this.#left
    this.opaque.length = 0
    let depth = 0
    left[0] = 1
    let position = start
    while (depth >= 0) {
      let entries = left[depth]!
      let marker = 0
      let hasOther = false
      // Values whose first byte tells their size, up to the first other one.
      while (entries > 0 && position < end) {
        marker = bytes[position]!
        const size = SIZES[marker]!
        entries--
        if (size === 0) {
          hasOther = true
          break
        }
        if (OPAQUE[marker] === 1) this.opaque.push(position, position + size)
        position += size
      }
      left[depth] = entries
      if (!hasOther) {
        if (entries > 0) return -1
        depth--
      } else if (marker < 0xa0 || marker >= 0xdc) {
        if (++depth > MAX_DEPTH) return -1
        const headSize = marker < 0xa0 ? 1 : (marker & 1) === 0 ? 3 : 5
        if (position + headSize > end) return -1
        const declared = marker < 0xa0 ? marker & 0x0f : bigEndian(bytes, position + 1, headSize - 1)
        const isMap = marker < 0x90 || marker >= 0xde
        left[depth] = isMap ? 2 * declared : declared
        position += headSize
      } else {
        if (marker === NEVER_USED) return -1
        const bodySize = this.#bodySize(bytes, position, end)
        if (bodySize < 0) return -1
        if (OPAQUE[marker] === 1) this.opaque.push(position, position + bodySize)
        position += bodySize
      }
    }
    return position <= end ? position : -1
  }

  /** Bytes of a string, byte string or extension that states its length; -1 = the length itself is cut off. */
  #bodySize(bytes: Uint8Array, position: number, end: number): number {
    const marker = bytes[position]!
    const isExtension = OPAQUE[marker] === 1
    const order = marker >= STRING_8 ? marker - STRING_8 : marker - (isExtension ? 0xc7 : 0xc4)
    const lengthSize = 1 << order
    if (position + 1 + lengthSize > end) return -1
    return 1 + lengthSize + (isExtension ? 1 : 0) + bigEndian(bytes, position + 1, lengthSize)
  }

  /**
   * The bytes of the value last walked, with `true` in place of every float and extension: no field takes a boolean either, and so a
   * float of a whole number is not mistaken for that number, and no extension is acted upon.
   */
  withoutOpaque(bytes: Uint8Array, start: number, end: number): Uint8Array {
    const { opaque } = this
    if (opaque.length === 0) return bytes.subarray(start, end)
    const copy = new Uint8Array(end - start)
    let length = 0
    let from = start
    for (let index = 0; index < opaque.length; index += 2) {
      copy.set(bytes.subarray(from, opaque[index]), length)
      length += opaque[index]! - from
      copy[length++] = TRUE
      from = opaque[index + 1]!
    }
    copy.set(bytes.subarray(from, end), length)
    return copy.subarray(0, length + end - from)
  }
}

const TRUE = 0xc3

/** An unsigned number of 1, 2 or 4 bytes. */
export function bigEndian(bytes: Uint8Array, position: number, size: number): number {
  let value = 0
  for (let index = 0; index < size; index++) value = value * 256 + bytes[position + index]!
  return value
}
