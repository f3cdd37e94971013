import fc from 'fast-check'

/**
 * Any character of Unicode, and halves of pairs. Costs nothing to make, where the units `binary` and `grapheme` of fast-check take a second
 * each to look for short cuts.
 */
export const anyCharacter = fc.oneof(
  fc.nat({ max: 0x10_ffff }).map((point) => String.fromCodePoint(point)),
  fc.integer({ min: 0x20, max: 0x7e }).map((point) => String.fromCharCode(point)),
  fc.constantFrom('é', 'ß', '日', '😀', 'e\u0301', '\u2028', '\u007f'),
)
