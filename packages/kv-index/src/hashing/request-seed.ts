/** Seed of block hashes as two unsigned halves. */
export interface HashSeed {
  readonly low: number
  readonly high: number
}

/** Seed of blocks without LoRA and salt. */
const baseSeed: HashSeed = { low: 1337, high: 0 }

/** Hash of a text with a seed, as two unsigned halves. */
export type HashText = (text: string, seed: number) => HashSeed

const generation = 512
const longest = 1024

/**
 * Seeds of requests: the base seed, plus a hash of the LoRA name, plus one of the cache salt with another seed. Empty equals absent.
 * Remembers the hashes of the last 512 to 1,024 names, and as many salts; texts over 1,024 characters are hashed each time.
 */
export class RequestSeeds {
  readonly #names: RecentHashes
  readonly #salts: RecentHashes
  readonly #sum = { low: 0, high: 0 }

  constructor(hashText: HashText) {
    this.#names = new RecentHashes((name) => hashText(name, 0))
    this.#salts = new RecentHashes((salt) => hashText(salt, 1))
  }

  /** Borrowed: the next call overwrites it. Allocates nothing for texts that it remembers. */
  seedOf(loraName: string | null | undefined, cacheSalt: string | null | undefined): HashSeed {
    const hasName = loraName !== undefined && loraName !== null && loraName !== ''
    const hasSalt = cacheSalt !== undefined && cacheSalt !== null && cacheSalt !== ''
    if (!hasName && !hasSalt) return baseSeed
    this.#sum.low = baseSeed.low
    this.#sum.high = baseSeed.high
    if (hasName) this.#add(this.#names.hashOf(loraName))
    if (hasSalt) this.#add(this.#salts.hashOf(cacheSalt))
    return this.#sum
  }

  #add({ low, high }: HashSeed): void {
    const sum = this.#sum.low + low
    const carry = sum > 0xffff_ffff ? 1 : 0
    this.#sum.low = sum >>> 0
    this.#sum.high = (this.#sum.high + high + carry) >>> 0
  }
}

/** Hashes of recent texts in two generations: when the young one is full it replaces the old one. */
class RecentHashes {
  readonly #compute: (text: string) => HashSeed
  #young = new Map<string, HashSeed>()
  #old = new Map<string, HashSeed>()

  constructor(compute: (text: string) => HashSeed) {
    this.#compute = compute
  }

  hashOf(text: string): HashSeed {
    if (text.length > longest) return this.#compute(text)
    const young = this.#young.get(text)
    if (young !== undefined) return young
    const hash = this.#old.get(text) ?? this.#compute(text)
    if (this.#young.size === generation) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(text, hash)
    return hash
  }
}
