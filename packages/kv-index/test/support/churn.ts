import type { BlockIndex, BlockRun } from '../../src/block-index.js'
import type { HashWords } from '../../src/hash-words.js'
import { DEVICE } from '../../src/tier.js'
import { MatchTable } from './match-table.js'

const promptBlocks = 16
const prompts = 4
const mostBlocks = 128
const prefix = promptBlocks + mostBlocks

/** A conversation that one rank has cached: a system prompt that others share, then blocks of its own. */
interface Session {
  readonly id: number
  readonly rank: number
  readonly tier: number
  readonly blocks: number
}

export interface ChurnOptions {
  readonly ranks: number
  /** Sessions that are cached at one time. */
  readonly liveSessions: number
  /** Tiers on which sessions lie, behind system prompts on the device; repeat one for a larger share. */
  readonly tiers: readonly number[]
  readonly seed: number
}

/**
 * Sessions that come and go, as engines would tell: stores in several turns, removals from the end, from the root, from the middle,
 * in one event and in many. Knows what must be held at any moment, and checks a lookup now and then. Allocates little, for
 * millions of sessions.
 */
export class Churn {
  readonly #index: BlockIndex
  readonly #options: ChurnOptions
  readonly #live: Session[] = []
  readonly #table: MatchTable
  readonly #run: BlockRun = {
    hasParent: false,
    parentLow: 0,
    parentHigh: 0,
    engine: new Uint32Array(2 * prefix),
    local: new Uint32Array(2 * prefix),
    start: 0,
    count: 0,
  }
  readonly #names: HashWords = new Uint32Array(2 * mostBlocks)
  #state: number
  #next = 1
  /** Device entries that the index must hold now. */
  entries = 0
  /** Stores and removals so far. */
  operations = 0

  constructor(index: BlockIndex, options: ChurnOptions) {
    this.#index = index
    this.#options = options
    this.#table = new MatchTable(options.ranks)
    this.#state = options.seed
  }

  /** The system prompts of every rank, which stay. */
  start(): void {
    for (let rank = 0; rank < this.#options.ranks; rank++) this.#startRank(rank)
  }

  /** An engine restarts: all that its rank has goes at once, and the rank begins anew. */
  restart(rank: number): void {
    this.#index.removeRank(rank)
    this.operations++
    let kept = 0
    for (const session of this.#live) {
      if (session.rank !== rank) this.#live[kept++] = session
      else if (session.tier === DEVICE) this.entries -= session.blocks
    }
    this.#live.length = kept
    this.entries -= prompts * promptBlocks
    this.#startRank(rank)
  }

  #startRank(rank: number): void {
    for (let prompt = 0; prompt < prompts; prompt++) {
      this.#write({ id: prompt, rank, tier: DEVICE, blocks: 0 })
      this.#store(rank, DEVICE, 0, promptBlocks)
      this.entries += promptBlocks
    }
  }

  /** One session comes; while there are too many one goes. */
  cycle(): void {
    const session = {
      id: this.#next++,
      rank: this.#below(this.#options.ranks),
      tier: this.#options.tiers[this.#below(this.#options.tiers.length)]!,
      blocks: 1 + this.#below(this.#below(8) === 0 ? mostBlocks : 24),
    }
    this.#come(session)
    this.#live.push(session)
    if (this.#live.length > this.#options.liveSessions) this.#go(this.#below(this.#live.length))
  }

  /** Everything goes, the system prompts too. */
  drain(): void {
    while (this.#live.length > 0) this.#go(this.#live.length - 1)
    for (let rank = 0; rank < this.#options.ranks; rank++) {
      for (let prompt = 0; prompt < prompts; prompt++) {
        this.#write({ id: prompt, rank, tier: DEVICE, blocks: 0 })
        this.#remove(rank, DEVICE, this.#run.engine, 0, promptBlocks)
        this.entries -= promptBlocks
      }
    }
  }

  #come(session: Session): void {
    const { rank, tier, blocks } = session
    this.#write(session)
    const turn = 1 + this.#below(blocks)
    for (let from = 0; from < blocks; from += turn) {
      this.#store(rank, tier, promptBlocks + from, Math.min(turn, blocks - from))
    }
    if (tier === DEVICE) this.entries += blocks
    if (session.id % 16 === 0) this.#check(session)
  }

  #go(at: number): void {
    const session = this.#live[at]!
    this.#live[at] = this.#live.at(-1)!
    this.#live.pop()
    const { rank, tier, blocks } = session
    this.#write(session)
    const own = this.#run.engine.subarray(2 * promptBlocks)
    const way = this.#below(4)
    if (way === 0) this.#remove(rank, tier, own, 0, blocks)
    else {
      // From the end; or first the odd ones, so that holes come and go; or from the middle on, both ways.
      const order = (step: number): number => {
        if (way === 1) return blocks - 1 - step
        if (way === 2) return step < blocks >> 1 ? 2 * step + 1 : 2 * (step - (blocks >> 1))
        return step < blocks - (blocks >> 1) ? (blocks >> 1) + step : step - (blocks - (blocks >> 1))
      }
      for (let step = 0; step < blocks; step++) {
        const block = order(step)
        this.#names[2 * step] = own[2 * block]!
        this.#names[2 * step + 1] = own[2 * block + 1]!
      }
      const size = way === 2 ? 1 : 16
      for (let from = 0; from < blocks; from += size) {
        this.#remove(rank, tier, this.#names, from, Math.min(size, blocks - from))
      }
    }
    if (tier === DEVICE) this.entries -= blocks
  }

  /** The rank that stores a session holds all of it, the others the system prompt. */
  #check({ rank, tier, blocks }: Session): void {
    this.#index.lookup(this.#run.local, promptBlocks + blocks, this.#table)
    for (let other = 0; other < this.#options.ranks; other++) {
      const found = this.#table.at(other)
      const expected = [promptBlocks, 0, 0, 0]
      if (other === rank) expected[tier]! += blocks
      if (found.join() !== expected.join())
        throw new Error(`rank ${other} matches ${found.join()} instead of ${expected.join()}`)
    }
  }

  #store(rank: number, tier: number, start: number, count: number): void {
    const run = this.#run
    run.hasParent = start > 0
    run.parentLow = start > 0 ? run.engine[2 * start - 2]! : 0
    run.parentHigh = start > 0 ? run.engine[2 * start - 1]! : 0
    run.start = start
    run.count = count
    this.#expectOk(this.#index.store(rank, tier, run))
  }

  #remove(rank: number, tier: number, names: HashWords, start: number, count: number): void {
    this.#expectOk(this.#index.remove(rank, tier, names, start, count))
  }

  #expectOk(outcome: string): void {
    this.operations++
    if (outcome !== 'ok') throw new Error(`operation ${this.operations}: ${outcome}`)
  }

  /** Both hashes of every block of a session's path into the run. */
  #write({ id, blocks }: Session): void {
    const { engine, local } = this.#run
    for (let at = 0; at < promptBlocks + blocks; at++) {
      const owner = at < promptBlocks ? id % prompts : prompts + id
      local[2 * at] = mix(owner + 0x9e37_79b9 * at)
      local[2 * at + 1] = at
      engine[2 * at] = mix(owner ^ 0x5bd1_e995)
      engine[2 * at + 1] = at
    }
  }

  #below(limit: number): number {
    this.#state = (this.#state + 0x6d2b_79f5) >>> 0
    return Math.floor((mix(this.#state) / 2 ** 32) * limit)
  }
}

function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85eb_ca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
