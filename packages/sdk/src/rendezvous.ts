const mask64 = 0xffff_ffff_ffff_ffffn

/**
 * The finaliser of SplitMix64 on a u64; more bits than 64 are cut off. Allocates: call it per worker change or per key, not
 * per row of a selection.
 * @source https://prng.di.unimi.it/splitmix64.c
 */
export function mix(value: bigint): bigint {
  let mixed = value & mask64
  mixed = ((mixed ^ (mixed >> 30n)) * 0xbf58_476d_1ce4_e5b9n) & mask64
  mixed = ((mixed ^ (mixed >> 27n)) * 0x94d0_49bb_1331_11ebn) & mask64
  return mixed ^ (mixed >> 31n)
}

/** The part of a rendezvous weight that depends on the row and the seed alone; compute it when the workers change. */
export function rendezvousRow(workerId: bigint, dpRank: number, seed: bigint): bigint {
  return mix(workerId ^ mix(BigInt(dpRank) ^ seed))
}

/** Rendezvous weight of a row for a key; the highest owns the key, equal ones (practically never) go to the first in worker order. */
export function rendezvousWeight(key: bigint, workerId: bigint, dpRank: number, seed: bigint): bigint {
  return mix(key ^ rendezvousRow(workerId, dpRank, seed))
}
