const SLOTS = 256
const LONGEST = 128

/**
 * The few strings that events repeat (media, kinds, adapter names) without making them anew. At most `SLOTS` strings of `LONGEST`
 * characters are kept; two that share a slot replace each other.
 */
export class TextCache {
  readonly #texts: (string | undefined)[] = Array.from({ length: SLOTS }, () => undefined)

  /** The text of ASCII bytes; absent when they are not ASCII or too many. Allocates only for a text that it does not keep. */
  read(bytes: Uint8Array, start: number, length: number): string | undefined {
    if (length > LONGEST) return undefined
    let hash = length
    for (let index = 0; index < length; index++) {
      const byte = bytes[start + index]!
      if (byte >= 0x80) return undefined
      hash = Math.imul(hash ^ byte, 0x0100_0193)
    }
    const slot = (hash ^ (hash >>> 13)) & (SLOTS - 1)
    const known = this.#texts[slot]
    if (known !== undefined && isSame(known, bytes, start, length)) return known
    const text = String.fromCharCode(...bytes.subarray(start, start + length))
    this.#texts[slot] = text
    return text
  }
}

function isSame(text: string, bytes: Uint8Array, start: number, length: number): boolean {
  if (text.length !== length) return false
  for (let index = 0; index < length; index++) {
    if (text.charCodeAt(index) !== bytes[start + index]) return false
  }
  return true
}
