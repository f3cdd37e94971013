/*
 * XXH3-64 in 32-bit halves, for where there is no WebAssembly; equal to ../simd/hash.assembly.ts. Offsets and lengths are bytes,
 * seeds two halves; `secrets` has the default secret at 0 and at `derived` the one made from the seed.
 * @source https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
 */

// Sums of 64 bits as low and high half: eight lanes, and one in which they are merged. The hash ends in the first.
const sums = new Int32Array(18)
const merged = 16

/** What the lanes start with: the eight primes of the algorithm. */
// oxfmt-ignore
const laneStart = Int32Array.of(
  0xc2b2ae3d, 0, 0x85ebca87, 0x9e3779b1, 0x27d4eb4f, 0xc2b2ae3d, 0x9e3779f9, 0x165667b1,
  0xc2b2ae63, 0x85ebca77, 0x85ebca77, 0, 0x165667c5, 0x27d4eb2f, 0x9e3779b1, 0,
)

/** Low half of the last hash, signed. */
export function lowHash(): number {
  return sums[0]!
}

/** High half of the last hash, signed. */
export function highHash(): number {
  return sums[1]!
}

/** Hashes bytes of a buffer into `lowHash` and `highHash`. Reads nothing outside of them. */
export function hashBytes(
  input: DataView,
  start: number,
  length: number,
  seedLow: number,
  seedHigh: number,
  secrets: DataView,
  derived: number,
): void {
  if (length > 240) hashLong(input, start, length, secrets, derived)
  else if (length > 128) hash129to240(input, start, length, seedLow, seedHigh, secrets, derived)
  else if (length > 16) hash17to128(input, start, length, secrets, derived)
  else if (length > 8) {
    const last = start + length - 8
    hash9to16(
      input.getInt32(start, true),
      input.getInt32(start + 4, true),
      input.getInt32(last, true),
      input.getInt32(last + 4, true),
      length,
      seedLow,
      seedHigh,
      secrets,
    )
  } else hashUpTo8(input, start, length, seedLow, seedHigh, secrets)
}

/** Hash of 9 to 16 bytes, given as their first and last eight. */
export function hash9to16(
  firstLow: number,
  firstHigh: number,
  lastLow: number,
  lastHigh: number,
  length: number,
  seedLow: number,
  seedHigh: number,
  secrets: DataView,
): void {
  setSecretPair(2, secrets, 24)
  add(2, seedLow, seedHigh)
  setSecretPair(4, secrets, 40)
  subtract(4, seedLow, seedHigh)
  const aLow = sums[2]! ^ firstLow
  const aHigh = sums[3]! ^ firstHigh
  const bLow = sums[4]! ^ lastLow
  const bHigh = sums[5]! ^ lastHigh
  set(0, length, 0)
  add(0, swapBytes(aHigh), swapBytes(aLow))
  add(0, bLow, bHigh)
  addFold(0, aLow, aHigh, bLow, bHigh)
  avalanche()
}

function hashUpTo8(
  input: DataView,
  start: number,
  length: number,
  seedLow: number,
  seedHigh: number,
  secrets: DataView,
): void {
  if (length === 0) {
    setSecretPair(0, secrets, 56)
    sums[0]! ^= seedLow
    sums[1]! ^= seedHigh
    avalanche64()
  } else if (length < 4) {
    const first = input.getUint8(start)
    const middle = input.getUint8(start + (length >> 1))
    const last = input.getUint8(start + length - 1)
    set(0, secrets.getInt32(0, true) ^ secrets.getInt32(4, true), 0)
    add(0, seedLow, seedHigh)
    sums[0]! ^= (first << 16) | (middle << 24) | (length << 8) | last
    avalanche64()
  } else {
    setSecretPair(0, secrets, 8)
    subtract(0, seedLow, seedHigh ^ swapBytes(seedLow))
    const low = sums[0]! ^ input.getInt32(start + length - 4, true)
    const high = sums[1]! ^ input.getInt32(start, true)
    // Rotated left by 49 and by 24.
    sums[0] = low ^ ((high << 17) | (low >>> 15)) ^ ((low << 24) | (high >>> 8))
    sums[1] = high ^ ((low << 17) | (high >>> 15)) ^ ((high << 24) | (low >>> 8))
    multiply(0, 0x1e98df25, 0x9fb21c65)
    sums[0]! ^= (sums[1]! >>> 3) + length
    multiply(0, 0x1e98df25, 0x9fb21c65)
    xorShifted(0, 28)
  }
}

function hash17to128(
  input: DataView,
  start: number,
  length: number,
  secrets: DataView,
  derived: number,
): void {
  const end = start + length - 16
  setLength(0, length)
  for (let at = ((length - 1) >> 5) << 4; at >= 0; at -= 16) {
    addMix(input, start + at, secrets, derived + 2 * at)
    addMix(input, end - at, secrets, derived + 2 * at + 16)
  }
  avalanche()
}

function hash129to240(
  input: DataView,
  start: number,
  length: number,
  seedLow: number,
  seedHigh: number,
  secrets: DataView,
  derived: number,
): void {
  setLength(0, length)
  for (let at = 0; at < 128; at += 16) addMix(input, start + at, secrets, derived + at)
  avalanche()
  for (let at = 128; at + 16 <= length; at += 16)
    addMixSeeded(input, start + at, secrets, at - 125, seedLow, seedHigh)
  addMixSeeded(input, start + length - 16, secrets, 119, seedLow, seedHigh)
  avalanche()
}

function hashLong(input: DataView, start: number, length: number, secrets: DataView, derived: number): void {
  sums.set(laneStart)
  // Stripes of 64 bytes; the last one ends with the input and may overlap the one before.
  const last = (length - 1) >>> 6
  for (let stripe = 0; stripe <= last; stripe++) {
    const at = stripe === last ? start + length - 64 : start + stripe * 64
    const secret = derived + (stripe === last ? 121 : (stripe & 15) * 8)
    for (let lane = 0; lane < 16; lane += 2) {
      const low = input.getInt32(at + 4 * lane, true)
      const high = input.getInt32(at + 4 * lane + 4, true)
      const keyLow = low ^ secrets.getInt32(secret + 4 * lane, true)
      const keyHigh = high ^ secrets.getInt32(secret + 4 * lane + 4, true)
      add(lane ^ 2, low, high)
      add(lane, Math.imul(keyLow, keyHigh), highProduct(keyLow, keyHigh))
    }
    if ((stripe & 15) === 15 && stripe !== last) scramble(secrets, derived + 128)
  }
  setLength(merged, length)
  for (let lane = 0; lane < 16; lane += 4) {
    const secret = derived + 11 + 4 * lane
    addFold(
      merged,
      sums[lane]! ^ secrets.getInt32(secret, true),
      sums[lane + 1]! ^ secrets.getInt32(secret + 4, true),
      sums[lane + 2]! ^ secrets.getInt32(secret + 8, true),
      sums[lane + 3]! ^ secrets.getInt32(secret + 12, true),
    )
  }
  set(0, sums[merged]!, sums[merged + 1]!)
  avalanche()
}

function scramble(secrets: DataView, secret: number): void {
  for (let lane = 0; lane < 16; lane += 2) {
    xorShifted(lane, 47)
    sums[lane]! ^= secrets.getInt32(secret + 4 * lane, true)
    sums[lane + 1]! ^= secrets.getInt32(secret + 4 * lane + 4, true)
    multiply(lane, 0x9e3779b1, 0)
  }
}

/** Adds to the first sum what sixteen bytes give with sixteen of the derived secret. */
function addMix(input: DataView, at: number, secrets: DataView, secret: number): void {
  addFold(
    0,
    input.getInt32(at, true) ^ secrets.getInt32(secret, true),
    input.getInt32(at + 4, true) ^ secrets.getInt32(secret + 4, true),
    input.getInt32(at + 8, true) ^ secrets.getInt32(secret + 8, true),
    input.getInt32(at + 12, true) ^ secrets.getInt32(secret + 12, true),
  )
}

/** `addMix` with the default secret: the derived one has the seed in it at multiples of sixteen only. */
function addMixSeeded(
  input: DataView,
  at: number,
  secrets: DataView,
  secret: number,
  seedLow: number,
  seedHigh: number,
): void {
  set(2, secrets.getInt32(secret, true), secrets.getInt32(secret + 4, true))
  add(2, seedLow, seedHigh)
  set(4, secrets.getInt32(secret + 8, true), secrets.getInt32(secret + 12, true))
  subtract(4, seedLow, seedHigh)
  addFold(
    0,
    input.getInt32(at, true) ^ sums[2]!,
    input.getInt32(at + 4, true) ^ sums[3]!,
    input.getInt32(at + 8, true) ^ sums[4]!,
    input.getInt32(at + 12, true) ^ sums[5]!,
  )
}

function set(at: number, low: number, high: number): void {
  sums[at] = low
  sums[at + 1] = high
}

/** Two words of the default secret, one upon the other. */
function setSecretPair(at: number, secrets: DataView, secret: number): void {
  sums[at] = secrets.getInt32(secret, true) ^ secrets.getInt32(secret + 8, true)
  sums[at + 1] = secrets.getInt32(secret + 4, true) ^ secrets.getInt32(secret + 12, true)
}

function setLength(at: number, length: number): void {
  set(at, length, 0)
  multiply(at, 0x85ebca87, 0x9e3779b1)
}

function add(at: number, low: number, high: number): void {
  const sum = (sums[at]! >>> 0) + (low >>> 0)
  sums[at] = sum
  sums[at + 1]! += high + (sum > 0xffff_ffff ? 1 : 0)
}

function subtract(at: number, low: number, high: number): void {
  const difference = (sums[at]! >>> 0) - (low >>> 0)
  sums[at] = difference
  sums[at + 1]! -= high + (difference < 0 ? 1 : 0)
}

function multiply(at: number, low: number, high: number): void {
  const ownLow = sums[at]!
  const ownHigh = sums[at + 1]!
  sums[at] = Math.imul(ownLow, low)
  sums[at + 1] = (highProduct(ownLow, low) + Math.imul(ownLow, high) + Math.imul(ownHigh, low)) | 0
}

/** Adds both halves of the 128-bit product of a and b, folded by xor. */
function addFold(at: number, aLow: number, aHigh: number, bLow: number, bHigh: number): void {
  const second =
    (highProduct(aLow, bLow) >>> 0) + (Math.imul(aLow, bHigh) >>> 0) + (Math.imul(aHigh, bLow) >>> 0)
  const third =
    (highProduct(aLow, bHigh) >>> 0) +
    (highProduct(aHigh, bLow) >>> 0) +
    (Math.imul(aHigh, bHigh) >>> 0) +
    Math.floor(second / 0x1_0000_0000)
  const fourth = highProduct(aHigh, bHigh) + Math.floor(third / 0x1_0000_0000)
  add(at, Math.imul(aLow, bLow) ^ third, second ^ fourth)
}

/** Upper 32 bits of the product of two unsigned 32-bit integers, signed: a number beyond 31 bits would be an object. */
function highProduct(a: number, b: number): number {
  const aLow = a & 0xffff
  const aHigh = a >>> 16
  const bLow = b & 0xffff
  const bHigh = b >>> 16
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16)
  const cross = aLow * bHigh + (middle & 0xffff)
  return (aHigh * bHigh + (middle >>> 16) + (cross >>> 16)) | 0
}

function xorShifted(at: number, bits: number): void {
  const low = sums[at]!
  const high = sums[at + 1]!
  if (bits >= 32) sums[at] = low ^ (high >>> (bits - 32))
  else {
    sums[at] = low ^ ((low >>> bits) | (high << (32 - bits)))
    sums[at + 1] = high ^ (high >>> bits)
  }
}

function avalanche(): void {
  xorShifted(0, 37)
  multiply(0, 0x9e3779f9, 0x16566791)
  xorShifted(0, 32)
}

function avalanche64(): void {
  xorShifted(0, 33)
  multiply(0, 0x27d4eb4f, 0xc2b2ae3d)
  xorShifted(0, 29)
  multiply(0, 0x9e3779f9, 0x165667b1)
  xorShifted(0, 32)
}

function swapBytes(word: number): number {
  return (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)
}
