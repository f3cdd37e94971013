/** Where a cached block lies. `device` is the prefix; each slower tier extends what the faster ones hold. */
export const TIERS = ['device', 'host_pinned', 'disk', 'external'] as const

export type Tier = (typeof TIERS)[number]

/** Tiers as numbers, for loops: indexes into `TIERS`. */
export const DEVICE = 0
export const HOST_PINNED = 1
export const DISK = 2
export const EXTERNAL = 3
