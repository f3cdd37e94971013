import type { HashWords } from '@router/kv-index'

const LARGEST_U32 = 0xffff_ffff
/** Bytes of the largest form of a token. */
const LARGEST_TOKEN = 5

/** Bits of a token in the last four bytes of its form, by marker; 0 = no form of a token. */
const TOKEN_BITS = tokenBits()

function tokenBits(): Int32Array {
  const bits = new Int32Array(256)
  bits.fill(0x7f, 0x00, 0x80)
  bits.set([0xff, 0xffff, -1], 0xcc)
  return bits
}

/**
 * Reads `count` msgpack integers as 64-bit hashes into `words`, from hash `at` on: unsigned as they are, signed bit-cast.
 * @param view of the whole payload
 * @returns position behind them; -1 = one is no integer, or they reach beyond `end`
 */
export function readHashes(
  view: DataView,
  start: number,
  end: number,
  count: number,
  words: HashWords,
  at: number,
): number {
  let position = start
  let word = 2 * at
  for (let index = 0; index < count; index++) {
    if (position >= end) return -1
    const marker = view.getUint8(position)
    let low = marker
    let high = 0
    let size = 1
    if (marker === 0xcf || marker === 0xd3) {
      size = 9
      if (position + 9 > end) return -1
      high = view.getInt32(position + 1)
      low = view.getInt32(position + 5)
    } else if (marker >= 0xe0) {
      low = marker - 0x100
      high = LARGEST_U32
    } else if (marker >= 0x80) {
      if (marker < 0xcc || marker > 0xd2) return -1
      size = 1 + (1 << (marker & 3))
      if (position + size > end) return -1
      low = shortInteger(view, position)
      high = marker >= 0xd0 && low < 0 ? LARGEST_U32 : 0
    }
    words[word] = low
    words[word + 1] = high
    word += 2
    position += size
  }
  return position
}

/**
 * Reads `count` msgpack integers as tokens of 0 to 2^32 - 1 into `tokens`, from `at` on.
 *
 * The sizes of tokens follow no pattern, so that a branch on them would be guessed wrong every third time: size and value come from the
 * marker without one.
 * @param bytes of the whole payload
 * @param view of the same
 * @param start at least 3
 * @returns position behind them; -1 = one is something else or written as a 64-bit integer, or they reach beyond `end`
 */
export function readTokens(
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
  count: number,
  tokens: Uint32Array,
  at: number,
): number {
  const last = at + count
  const safe = end - LARGEST_TOKEN
  let position = start
  let token = at
  while (token < last && position <= safe) {
    const marker = bytes[position]!
    const bits = TOKEN_BITS[marker]!
    if (bits === 0) return -1
    position += 1 + ((marker >> 7) << (marker & 3))
    tokens[token++] = view.getInt32(position - 4) & bits
  }
  while (token < last) {
    if (position >= end) return -1
    const marker = bytes[position]!
    const bits = TOKEN_BITS[marker]!
    position += 1 + ((marker >> 7) << (marker & 3))
    if (bits === 0 || position > end) return -1
    tokens[token++] = view.getInt32(position - 4) & bits
  }
  return position
}

/** An integer of 1, 2 or 4 bytes by its marker, signed if the marker says so; the bits of four bytes come signed. */
function shortInteger(view: DataView, position: number): number {
  switch (view.getUint8(position)) {
    case 0xcc:
      return view.getUint8(position + 1)
    case 0xcd:
      return view.getUint16(position + 1)
    case 0xd0:
      return view.getInt8(position + 1)
    case 0xd1:
      return view.getInt16(position + 1)
    default:
      return view.getInt32(position + 1)
  }
}
