// XXH3-64 over token blocks and the chain over their hashes. Built into hash-module.ts by `pnpm run build:simd`; equal to
// ../hashing/xxh3.ts. Scalar where one product follows another, vectors of two where products are independent: a 64 x 64 bit
// product is four of 32 x 32 bits either way. Offsets are bytes in the imported memory, lengths bytes, seeds two halves.
// `secrets` is where the default secret lies, `derived` where the one made from the seed lies.

const PRIME32_1: u64 = 0x9e3779b1
const PRIME32_2: u64 = 0x85ebca77
const PRIME32_3: u64 = 0xc2b2ae3d
const PRIME64_1: u64 = 0x9e3779b185ebca87
const PRIME64_2: u64 = 0xc2b2ae3d27d4eb4f
const PRIME64_3: u64 = 0x165667b19e3779f9
const PRIME64_4: u64 = 0x85ebca77c2b2ae63
const PRIME64_5: u64 = 0x27d4eb2f165667c5
const MIX_1: u64 = 0x165667919e3779f9
const MIX_2: u64 = 0x9fb21c651e98df25
const LOW: u64 = 0xffffffff
const CHAIN_SEED: u64 = 1337

/** Both halves of the 128-bit product, folded by xor. */
@inline
function fold(a: u64, b: u64): u64 {
  const aLow = <u64>(<u32>a)
  const bLow = <u64>(<u32>b)
  const aHigh = a >> 32
  const bHigh = b >> 32
  const middle = aHigh * bLow + ((aLow * bLow) >> 32)
  const cross = aLow * bHigh + <u64>(<u32>middle)
  return (aHigh * bHigh + (middle >> 32) + (cross >> 32)) ^ (a * b)
}

/** `fold` of the lanes of `first` with one another and of those of `second`. */
@inline
function foldPair(first: v128, second: v128): v128 {
  const mask = i64x2.splat(LOW)
  const a = i32x4.shuffle(first, second, 0, 4, 1, 5)
  const b = i32x4.shuffle(first, second, 2, 6, 3, 7)
  const swapped = i32x4.shuffle(b, b, 2, 3, 0, 1)
  const low = i64x2.extmul_low_i32x4_u(a, b)
  const middle = i64x2.add(i64x2.extmul_high_i32x4_u(a, swapped), i64x2.shr_u(low, 32))
  const cross = i64x2.add(i64x2.extmul_low_i32x4_u(a, swapped), v128.and(middle, mask))
  const high = i64x2.add(i64x2.extmul_high_i32x4_u(a, b), i64x2.shr_u(middle, 32))
  return v128.xor(i64x2.add(high, i64x2.shr_u(cross, 32)), v128.or(i64x2.shl(cross, 32), v128.and(low, mask)))
}

@inline
function sumOf(pair: v128): u64 {
  return <u64>i64x2.extract_lane(pair, 0) + <u64>i64x2.extract_lane(pair, 1)
}

@inline
function avalanche(hash: u64): u64 {
  hash = (hash ^ (hash >> 37)) * MIX_1
  return hash ^ (hash >> 32)
}

@inline
function avalanche64(hash: u64): u64 {
  hash = (hash ^ (hash >> 33)) * PRIME64_2
  hash = (hash ^ (hash >> 29)) * PRIME64_3
  return hash ^ (hash >> 32)
}

/** Sixteen bytes with sixteen of the derived secret. */
@inline
function keyed(input: usize, derived: usize): v128 {
  return v128.xor(v128.load(input), v128.load(derived))
}

/** Sixteen bytes with sixteen of the default secret: the derived one has the seed in it at multiples of sixteen only. */
@inline
function mixSeeded(input: usize, secret: usize, seed: u64): u64 {
  return fold(load<u64>(input) ^ (load<u64>(secret) + seed), load<u64>(input, 8) ^ (load<u64>(secret, 8) - seed))
}

/** 9 to 16 bytes as their first and last eight. */
@inline
function hash9to16(first: u64, last: u64, length: u64, flipFirst: u64, flipLast: u64): u64 {
  const low = first ^ flipFirst
  const high = last ^ flipLast
  return avalanche(length + bswap<u64>(low) + high + fold(low, high))
}

function hashUpTo16(input: usize, length: usize, seed: u64, secrets: usize): u64 {
  if (length > 8) {
    return hash9to16(
      load<u64>(input), load<u64>(input + length - 8), length,
      (load<u64>(secrets, 24) ^ load<u64>(secrets, 32)) + seed, (load<u64>(secrets, 40) ^ load<u64>(secrets, 48)) - seed
    )
  }
  if (length >= 4) {
    const flip = (load<u64>(secrets, 8) ^ load<u64>(secrets, 16)) - (seed ^ ((<u64>bswap<u32>(<u32>seed)) << 32))
    let hash = (<u64>load<u32>(input + length - 4) + ((<u64>load<u32>(input)) << 32)) ^ flip
    hash = (hash ^ rotl<u64>(hash, 49) ^ rotl<u64>(hash, 24)) * MIX_2
    hash = (hash ^ ((hash >> 35) + length)) * MIX_2
    return hash ^ (hash >> 28)
  }
  if (length > 0) {
    const combined = ((<u32>load<u8>(input)) << 16) | ((<u32>load<u8>(input + (length >> 1))) << 24) |
      ((<u32>length) << 8) | <u32>load<u8>(input + length - 1)
    return avalanche64(<u64>combined ^ (<u64>(load<u32>(secrets) ^ load<u32>(secrets, 4)) + seed))
  }
  return avalanche64(seed ^ load<u64>(secrets, 56) ^ load<u64>(secrets, 64))
}

function hash17to128(input: usize, length: usize, derived: usize): u64 {
  const end = input + length - 16
  let sum = i64x2.splat(0)
  for (let at: usize = ((length - 1) >> 5) << 4; ; at -= 16) {
    sum = i64x2.add(sum, foldPair(keyed(input + at, derived + at * 2), keyed(end - at, derived + at * 2 + 16)))
    if (at === 0) break
  }
  return avalanche((<u64>length) * PRIME64_1 + sumOf(sum))
}

/** `hash17to128` of 64 bytes: blocks of 16 tokens are the common ones. */
@inline
function hash64(input: usize, derived: usize): u64 {
  const outer = foldPair(keyed(input, derived), keyed(input + 48, derived + 16))
  const inner = foldPair(keyed(input + 16, derived + 32), keyed(input + 32, derived + 48))
  return avalanche(64 * PRIME64_1 + sumOf(i64x2.add(outer, inner)))
}

function hash129to240(input: usize, length: usize, seed: u64, secrets: usize, derived: usize): u64 {
  let pairs = i64x2.splat(0)
  for (let at: usize = 0; at < 128; at += 32) {
    pairs = i64x2.add(pairs, foldPair(keyed(input + at, derived + at), keyed(input + at + 16, derived + at + 16)))
  }
  let sum = avalanche((<u64>length) * PRIME64_1 + sumOf(pairs))
  for (let at: usize = 128; at + 16 <= length; at += 16) sum += mixSeeded(input + at, secrets + at - 125, seed)
  return avalanche(sum + mixSeeded(input + length - 16, secrets + 119, seed))
}

/** What sixteen bytes of a stripe add to their two sums. */
@inline
function added(input: usize, secret: usize): v128 {
  const data = v128.load(input)
  const key = v128.xor(data, v128.load(secret))
  const halves = i32x4.shuffle(key, key, 0, 2, 1, 3)
  const product = i64x2.extmul_low_i32x4_u(halves, i32x4.shuffle(halves, halves, 2, 3, 0, 1))
  return i64x2.add(product, i64x2.shuffle(data, data, 1, 0))
}

@inline
function scrambled(sums: v128, secret: usize): v128 {
  const mixed = v128.xor(v128.xor(sums, i64x2.shr_u(sums, 47)), v128.load(secret, 128))
  return i64x2.mul(mixed, i64x2.splat(PRIME32_1))
}

@inline
function merged(sums: v128, secret: usize): u64 {
  const key = v128.xor(sums, v128.load(secret, 11))
  return fold(<u64>i64x2.extract_lane(key, 0), <u64>i64x2.extract_lane(key, 1))
}

function hashLong(input: usize, length: usize, secret: usize): u64 {
  let a = i64x2(PRIME32_3, PRIME64_1)
  let b = i64x2(PRIME64_2, PRIME64_3)
  let c = i64x2(PRIME64_4, PRIME32_2)
  let d = i64x2(PRIME64_5, PRIME32_1)
  // Stripes of 64 bytes; the last one ends with the input and may overlap the one before.
  const last = (length - 1) >> 6
  for (let stripe: usize = 0; stripe <= last; stripe++) {
    const at = stripe === last ? input + length - 64 : input + (stripe << 6)
    const key = secret + (stripe === last ? 121 : (stripe & 15) << 3)
    a = i64x2.add(a, added(at, key))
    b = i64x2.add(b, added(at + 16, key + 16))
    c = i64x2.add(c, added(at + 32, key + 32))
    d = i64x2.add(d, added(at + 48, key + 48))
    if ((stripe & 15) === 15 && stripe !== last) {
      a = scrambled(a, secret)
      b = scrambled(b, secret + 16)
      c = scrambled(c, secret + 32)
      d = scrambled(d, secret + 48)
    }
  }
  const sum = merged(a, secret) + merged(b, secret + 16) + merged(c, secret + 32) + merged(d, secret + 48)
  return avalanche((<u64>length) * PRIME64_1 + sum)
}

function hash(input: usize, length: usize, seed: u64, secrets: usize, derived: usize): u64 {
  if (length > 240) return hashLong(input, length, derived)
  if (length > 128) return hash129to240(input, length, seed, secrets, derived)
  if (length > 16) return hash17to128(input, length, derived)
  return hashUpTo16(input, length, seed, secrets)
}

/** Hashes of `count` inputs of `length` bytes, `stride` bytes apart, to `local`. */
export function hashBlocks(
  input: usize, length: usize, stride: usize, count: usize, seedLow: u32, seedHigh: u32,
  secrets: usize, derived: usize, local: usize
): void {
  const seed = ((<u64>seedHigh) << 32) | <u64>seedLow
  for (const end = local + (count << 3); local < end; local += 8) {
    store<u64>(local, hash(input, length, seed, secrets, derived))
    input += stride
  }
}

@inline
function flipFirst(secrets: usize): u64 {
  return (load<u64>(secrets, 24) ^ load<u64>(secrets, 32)) + CHAIN_SEED
}

@inline
function flipLast(secrets: usize): u64 {
  return (load<u64>(secrets, 40) ^ load<u64>(secrets, 48)) - CHAIN_SEED
}

/** Chained hashes of `count` local hashes to `sequence`. The hash before the first lies at `sequence - 8`, unless `isFirst`. */
export function chain(local: usize, count: usize, secrets: usize, isFirst: bool, sequence: usize): void {
  const first = flipFirst(secrets)
  const last = flipLast(secrets)
  let previous = load<u64>(sequence - 8)
  for (const end = local + (count << 3); local < end; local += 8) {
    const own = load<u64>(local)
    previous = isFirst ? own : hash9to16(previous, own, 16, first, last)
    isFirst = false
    store<u64>(sequence, previous)
    sequence += 8
  }
}

/** `hashBlocks` and `chain` of inputs of 64 bytes in one pass: one hides the waiting of the other. */
export function hashChained64(
  input: usize, stride: usize, count: usize, secrets: usize, derived: usize, local: usize, isFirst: bool, sequence: usize
): void {
  const first = flipFirst(secrets)
  const last = flipLast(secrets)
  let previous = load<u64>(sequence - 8)
  for (const end = local + (count << 3); local < end; local += 8) {
    const own = hash64(input, derived)
    store<u64>(local, own)
    previous = isFirst ? own : hash9to16(previous, own, 16, first, last)
    isFirst = false
    store<u64>(sequence, previous)
    sequence += 8
    input += stride
  }
}
