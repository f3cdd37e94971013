import type { HashWords } from '@router/kv-index'

const LARGEST_U32 = 0xffff_ffff

/**
 * Reads `count` msgpack integers as 64-bit hashes into `words`, from hash `at` on: unsigned as they are, signed bit-cast.
 * @returns position behind them; -1 = one is no integer, or they reach beyond `end`
 */
export function readHashes(
  bytes: Uint8Array,
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
    const marker = bytes[position]!
    let low = marker
    let high = 0
    let size = 1
    if (marker === 0xcf || marker === 0xd3) {
      size = 9
      if (position + 9 > end) return -1
      high = word32(bytes, position + 1)
      low = word32(bytes, position + 5)
    } else if (marker >= 0xe0) {
      low = marker - 0x100
      high = LARGEST_U32
    } else if (marker >= 0x80) {
      if (marker < 0xcc || marker > 0xd2) return -1
      size = 1 + (1 << (marker < 0xd0 ? marker - 0xcc : marker - 0xd0))
      if (position + size > end) return -1
      low = shortWord(bytes, position)
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
 * @returns position behind them; -1 = one is something else or written as a 64-bit integer, or they reach beyond `end`
 */
export function readTokens(
  bytes: Uint8Array,
  start: number,
  end: number,
  count: number,
  tokens: Uint32Array,
  at: number,
): number {
  let position = start
  let token = at
  const last = at + count
  // Nothing in this loop can reach beyond the end: the largest form has 5 bytes.
  const safe = end - 5
  while (token < last && position <= safe) {
    const marker = bytes[position]!
    if (marker < 0x80) {
      tokens[token++] = marker
      position++
    } else if (marker === 0xcd) {
      tokens[token++] = (bytes[position + 1]! << 8) | bytes[position + 2]!
      position += 3
    } else if (marker === 0xce) {
      tokens[token++] = word32(bytes, position + 1)
      position += 5
    } else if (marker === 0xcc) {
      tokens[token++] = bytes[position + 1]!
      position += 2
    } else {
      return -1
    }
  }
  while (token < last) {
    if (position >= end) return -1
    const marker = bytes[position]!
    const size = marker < 0x80 ? 1 : marker < 0xcc || marker > 0xce ? 0 : 1 + (1 << (marker - 0xcc))
    if (size === 0 || position + size > end) return -1
    tokens[token++] = size === 1 ? marker : shortWord(bytes, position)
    position += size
  }
  return position
}

/** An integer of 1, 2 or 4 bytes by its marker, signed if the marker says so. */
function shortWord(bytes: Uint8Array, position: number): number {
  const first = bytes[position + 1]!
  switch (bytes[position]!) {
    case 0xcc:
      return first
    case 0xcd:
      return (first << 8) | bytes[position + 2]!
    case 0xd0:
      return (first << 24) >> 24
    case 0xd1:
      return ((first << 24) >> 16) | bytes[position + 2]!
    case 0xd2:
      return word32(bytes, position + 1) | 0
    default:
      return word32(bytes, position + 1)
  }
}

function word32(bytes: Uint8Array, position: number): number {
  return (
    ((bytes[position]! << 24) |
      (bytes[position + 1]! << 16) |
      (bytes[position + 2]! << 8) |
      bytes[position + 3]!) >>>
    0
  )
}
