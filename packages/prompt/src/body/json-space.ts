/** Where the white space of JSON that starts here ends. */
export function skipSpace(bytes: Uint8Array, start: number): number {
  let at = start
  while (at < bytes.length) {
    const byte = bytes[at]!
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) break
    at++
  }
  return at
}
