/**
 * Writes text as UTF-8 and returns its length in bytes; `target` has room for three bytes a character. A surrogate that stands
 * alone is written as three bytes, so that different texts never become equal.
 */
export function writeUtf8(text: string, target: Uint8Array): number {
  let at = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.codePointAt(index)!
    if (code < 0x80) target[at++] = code
    else if (code < 0x800) {
      target[at++] = 0xc0 | (code >> 6)
      target[at++] = 0x80 | (code & 0x3f)
    } else if (code < 0x1_0000) {
      target[at++] = 0xe0 | (code >> 12)
      target[at++] = 0x80 | ((code >> 6) & 0x3f)
      target[at++] = 0x80 | (code & 0x3f)
    } else {
      target[at++] = 0xf0 | (code >> 18)
      target[at++] = 0x80 | ((code >> 12) & 0x3f)
      target[at++] = 0x80 | ((code >> 6) & 0x3f)
      target[at++] = 0x80 | (code & 0x3f)
      index++
    }
  }
  return at
}
