/** Bytes of a number behind its marker, from 0xca on: floats, unsigned and signed integers. */
const SIZES = [4, 8, 1, 2, 4, 8, 1, 2, 4, 8]

/** Reads single msgpack numbers of any form. Allocates nothing. */
export class NumberReader {
  /** The number last read, rounded to a double. */
  value = 0
  /** Whether it is an integer of 0 to 2^32 - 1, and not written as a float. */
  isU32 = false
  readonly #view = new DataView(new ArrayBuffer(8))

  /** Position behind the number; -1 = there is none. */
  read(bytes: Uint8Array, position: number): number {
    const marker = bytes[position]
    if (marker === undefined) return -1
    if (marker < 0x80 || marker >= 0xe0) {
      this.value = marker < 0x80 ? marker : marker - 0x100
      this.isU32 = marker < 0x80
      return position + 1
    }
    const size = SIZES[marker - 0xca]
    if (size === undefined || position + 1 + size > bytes.length) return -1
    for (let index = 0; index < size; index++) this.#view.setUint8(index, bytes[position + 1 + index]!)
    this.value = this.#number(marker)
    this.isU32 = marker > 0xcb && this.value >= 0 && this.value <= 0xffff_ffff
    return position + 1 + size
  }

  #number(marker: number): number {
    const view = this.#view
    switch (marker) {
      case 0xca:
        return view.getFloat32(0)
      case 0xcb:
        return view.getFloat64(0)
      case 0xcc:
        return view.getUint8(0)
      case 0xcd:
        return view.getUint16(0)
      case 0xce:
        return view.getUint32(0)
      case 0xcf:
        return view.getUint32(0) * 2 ** 32 + view.getUint32(4)
      case 0xd0:
        return view.getInt8(0)
      case 0xd1:
        return view.getInt16(0)
      case 0xd2:
        return view.getInt32(0)
      default:
        return view.getInt32(0) * 2 ** 32 + view.getUint32(4)
    }
  }
}
