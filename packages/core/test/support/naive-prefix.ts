/** Where a rank holds blocks, each named by the word that ends with it. */
type Tiers = readonly [device: Set<string>, host: Set<string>, disk: Set<string>, external: Set<string>]

/** Blocks of a prompt that a rank holds, tier after tier, each beyond the faster ones. */
export type Overlap = [device: number, host: number, disk: number, external: number]

interface NaiveHolder {
  readonly hasEvents: boolean
  isKnown: boolean
  tiers: Tiers
  /** Believed or predicted blocks, and when they expire. */
  beliefs: Map<string, number>
}

const noTiers = (): Tiers => [new Set(), new Set(), new Set(), new Set()]

/** What ranks hold, block by block, over plain sets: no runs, no names, no columns. */
export class NaivePrefix {
  readonly ranks = new Map<string, NaiveHolder>()
  readonly #ttlMs: number
  readonly #predictedMs: number | undefined

  constructor(ttlMs: number, predictedMs: number | undefined) {
    this.#ttlMs = ttlMs
    this.#predictedMs = predictedMs
  }

  /** A rank that joins, or lives anew. */
  join(rank: string, hasEvents: boolean): void {
    this.ranks.set(rank, { hasEvents, isKnown: !hasEvents, tiers: noTiers(), beliefs: new Map() })
  }

  /** The word's blocks from `from` on. */
  store(rank: string, word: string, from: number, tier: number): string {
    const holder = this.ranks.get(rank)!
    holder.isKnown = true
    const held = holder.tiers[tier]!
    if (tier === 0 && from > 0 && !held.has(word.slice(0, from))) return 'parent_not_found'
    let isNew = from >= word.length
    for (let end = from + 1; end <= word.length; end++) {
      isNew ||= !held.has(word.slice(0, end))
      held.add(word.slice(0, end))
    }
    return isNew || tier > 0 ? 'ok' : 'duplicate_store'
  }

  /** The last block of the word. */
  drop(rank: string, word: string, tier: number): string {
    const holder = this.ranks.get(rank)!
    holder.isKnown = true
    const isHeld = holder.tiers[tier]!.delete(word)
    return isHeld || tier > 0 ? 'ok' : 'block_not_found'
  }

  clear(rank: string): void {
    Object.assign(this.ranks.get(rank)!, { isKnown: true, tiers: noTiers() })
  }

  /** A prompt went to a rank. */
  dispatch(rank: string, word: string, nowMs: number): void {
    const { hasEvents, beliefs } = this.ranks.get(rank)!
    const ttlMs = hasEvents ? this.#predictedMs : this.#ttlMs
    if (ttlMs === undefined) return
    const expiry = Math.ceil((nowMs + ttlMs) / 100) * 100
    for (let end = 1; end <= word.length; end++) beliefs.set(word.slice(0, end), expiry)
  }

  /** Device blocks that a rank holds or is believed to hold; predictions do not count. */
  size(rank: string, nowMs: number): number {
    const { hasEvents, tiers, beliefs } = this.ranks.get(rank)!
    return hasEvents ? tiers[0].size : [...beliefs.values()].filter((expiry) => expiry > nowMs).length
  }

  overlap(rank: string, word: string, nowMs: number): Overlap | undefined {
    const { isKnown, tiers, beliefs } = this.ranks.get(rank)!
    if (!isKnown) return undefined
    let at = 0
    const overlap = tiers.map((held) => {
      const start = at
      while (at < word.length && held.has(word.slice(0, at + 1))) at++
      return at - start
    }) as Overlap
    let believed = 0
    while (believed < word.length && beliefs.get(word.slice(0, believed + 1))! > nowMs) believed++
    // What is believed to be on the device is no extension of it any more.
    let gained = Math.max(0, believed - overlap[0])
    overlap[0] += gained
    for (const tier of [1, 2, 3] as const) {
      const taken = Math.min(gained, overlap[tier])
      overlap[tier] -= taken
      gained -= taken
    }
    return overlap
  }
}
