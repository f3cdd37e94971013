// XXH3-64 and block hashing once more, written with bigints straight from the published rules: slow, and nothing shared with src.

const mask = (1n << 64n) - 1n
const u64 = (value: bigint): bigint => value & mask
const xorShift = (value: bigint, bits: bigint): bigint => value ^ (value >> bits)
const rotate = (value: bigint, bits: bigint): bigint => u64(value << bits) | (value >> (64n - bits))

const [P32_1, P32_2, P32_3] = [0x9e3779b1n, 0x85ebca77n, 0xc2b2ae3dn]
const [P1, P2, P3] = [0x9e3779b185ebca87n, 0xc2b2ae3d27d4eb4fn, 0x165667b19e3779f9n]
const [P4, P5] = [0x85ebca77c2b2ae63n, 0x27d4eb2f165667c5n]

function read(bytes: Uint8Array, at: number, count: number): bigint {
  let value = 0n
  for (let index = count - 1; index >= 0; index--) value = (value << 8n) | BigInt(bytes[at + index]!)
  return value
}
const word = (bytes: Uint8Array, at: number): bigint => read(bytes, at, 8)
const half = (bytes: Uint8Array, at: number): bigint => read(bytes, at, 4)

function swap(value: bigint, count: number): bigint {
  let swapped = 0n
  for (let index = 0; index < count; index++)
    swapped = (swapped << 8n) | ((value >> BigInt(8 * index)) & 0xffn)
  return swapped
}

function fold(a: bigint, b: bigint): bigint {
  const product = u64(a) * u64(b)
  return u64(product) ^ (product >> 64n)
}

const avalanche = (hash: bigint): bigint => xorShift(u64(xorShift(hash, 37n) * 0x165667919e3779f9n), 32n)
const avalanche64 = (hash: bigint): bigint =>
  xorShift(u64(xorShift(u64(xorShift(hash, 33n) * P2), 29n) * P3), 32n)

/** XXH3-64 of bytes, with the default secret of 192 bytes. */
export function naiveXxh3(bytes: Uint8Array, seed: bigint, secret: Uint8Array): bigint {
  const { length } = bytes
  const size = BigInt(length)
  const mix = (at: number, key: number): bigint =>
    fold(
      word(bytes, at) ^ u64(word(secret, key) + seed),
      word(bytes, at + 8) ^ u64(word(secret, key + 8) - seed),
    )
  if (length === 0) return avalanche64(seed ^ word(secret, 56) ^ word(secret, 64))
  if (length <= 3) {
    const [first, middle, last] = [bytes[0]!, bytes[length >> 1]!, bytes[length - 1]!].map(BigInt)
    const combined = (first! << 16n) | (middle! << 24n) | last! | (size << 8n)
    return avalanche64(combined ^ u64((half(secret, 0) ^ half(secret, 4)) + seed))
  }
  if (length <= 8) {
    const mixed = seed ^ (swap(seed & 0xffffffffn, 4) << 32n)
    const flip = u64((word(secret, 8) ^ word(secret, 16)) - mixed)
    let hash = u64(half(bytes, length - 4) + (half(bytes, 0) << 32n)) ^ flip
    hash = u64((hash ^ rotate(hash, 49n) ^ rotate(hash, 24n)) * 0x9fb21c651e98df25n)
    return xorShift(u64((hash ^ ((hash >> 35n) + size)) * 0x9fb21c651e98df25n), 28n)
  }
  if (length <= 16) {
    const low = word(bytes, 0) ^ u64((word(secret, 24) ^ word(secret, 32)) + seed)
    const high = word(bytes, length - 8) ^ u64((word(secret, 40) ^ word(secret, 48)) - seed)
    return avalanche(u64(size + swap(low, 8) + high + fold(low, high)))
  }
  if (length <= 128) {
    let sum = size * P1
    for (let pair = (length - 1) >> 5; pair >= 0; pair--) {
      sum += mix(16 * pair, 32 * pair) + mix(length - 16 * (pair + 1), 32 * pair + 16)
    }
    return avalanche(u64(sum))
  }
  if (length <= 240) {
    let sum = size * P1
    for (let round = 0; round < 8; round++) sum += mix(16 * round, 16 * round)
    sum = avalanche(u64(sum))
    for (let round = 8; round < length >> 4; round++) sum += mix(16 * round, 16 * (round - 8) + 3)
    return avalanche(u64(sum + mix(length - 16, 119)))
  }
  return naiveLong(bytes, derived(secret, seed))
}

function derived(secret: Uint8Array, seed: bigint): Uint8Array {
  const own = new DataView(new ArrayBuffer(192))
  for (let at = 0; at < 192; at += 16) {
    own.setBigUint64(at, u64(word(secret, at) + seed), true)
    own.setBigUint64(at + 8, u64(word(secret, at + 8) - seed), true)
  }
  return new Uint8Array(own.buffer)
}

function naiveLong(bytes: Uint8Array, secret: Uint8Array): bigint {
  const sums = [P32_3, P1, P2, P3, P4, P32_2, P5, P32_1]
  const stripe = (at: number, key: number): void => {
    for (let lane = 0; lane < 8; lane++) {
      const data = word(bytes, at + 8 * lane)
      const mixed = data ^ word(secret, key + 8 * lane)
      sums[lane ^ 1] = u64(sums[lane ^ 1]! + data)
      sums[lane] = u64(sums[lane]! + (mixed & 0xffffffffn) * (mixed >> 32n))
    }
  }
  const blocks = Math.floor((bytes.length - 1) / 1024)
  for (let block = 0; block < blocks; block++) {
    for (let index = 0; index < 16; index++) stripe(1024 * block + 64 * index, 8 * index)
    for (let lane = 0; lane < 8; lane++) {
      sums[lane] = u64((xorShift(sums[lane]!, 47n) ^ word(secret, 128 + 8 * lane)) * P32_1)
    }
  }
  const rest = Math.floor((bytes.length - 1 - 1024 * blocks) / 64)
  for (let index = 0; index < rest; index++) stripe(1024 * blocks + 64 * index, 8 * index)
  stripe(bytes.length - 64, 121)
  let result = BigInt(bytes.length) * P1
  for (let pair = 0; pair < 4; pair++) {
    const key = 11 + 16 * pair
    result += fold(sums[2 * pair]! ^ word(secret, key), sums[2 * pair + 1]! ^ word(secret, key + 8))
  }
  return avalanche(u64(result))
}

/** Bytes of little-endian integers of `size` bytes. */
export function littleEndian(values: readonly (number | bigint)[], size: 4 | 8): Uint8Array {
  const bytes = new Uint8Array(size * values.length)
  for (const [index, value] of values.entries()) {
    for (let byte = 0; byte < size; byte++) {
      bytes[size * index + byte] = Number((BigInt(value) >> BigInt(8 * byte)) & 0xffn)
    }
  }
  return bytes
}

/** Local and sequence hashes as the rules say them. */
export function naiveBlocks(
  tokens: readonly number[],
  { blockSize, isEagle = false, seed = 1337n }: { blockSize: number; isEagle?: boolean; seed?: bigint },
  secret: Uint8Array,
): { local: bigint[]; sequence: bigint[] } {
  const window = isEagle ? blockSize + 1 : blockSize
  const local: bigint[] = []
  for (let start = 0; start + window <= tokens.length; start += blockSize) {
    local.push(naiveXxh3(littleEndian(tokens.slice(start, start + window), 4), seed, secret))
  }
  const sequence: bigint[] = []
  for (const own of local) {
    const previous = sequence.at(-1)
    sequence.push(previous === undefined ? own : naiveXxh3(littleEndian([previous, own], 8), 1337n, secret))
  }
  return { local, sequence }
}
