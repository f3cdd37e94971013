import { type BlockIndex, OverlapRows, TIERS, hashWords, highOf, lowOf } from '@router/kv-index'
import { roundHalfAway } from '@router/sdk'
import { type IndexEventsLine, type IndexEventsStep, lowerTiers } from '../shapes/rust-index.js'
import type { Checks } from './checks.js'
import { type BlockNames, blockNames } from './rust-index-blocks.js'

/** Makes an empty exact index. */
export type IndexFactory = (options: { readonly blockSize: number }) => BlockIndex

type Step<Op extends IndexEventsStep['op']> = Extract<IndexEventsStep, { op: Op }>
type Query = NonNullable<Step<'query'>['expect']>
type Expected = number | readonly [number, number]

/** Share of a block that a lower tier is worth. */
const weights = { host_pinned: 0.75, disk: 0.25, external: 0.25 }

/** Plays the steps of a line on a fresh index and compares what each says. */
export function evaluateIndexEvents(line: IndexEventsLine, checks: Checks, create: IndexFactory): void {
  const play = new Play(line, create({ blockSize: line.blockSize }))
  for (const [index, step] of line.steps.entries()) {
    checks.within(`step ${index}`, () => play.step(step, checks))
  }
}

class Play {
  readonly #index: BlockIndex
  readonly #names: BlockNames
  readonly #slots = new Slots()
  #table = new Table(16)

  constructor(line: IndexEventsLine, index: BlockIndex) {
    this.#index = index
    this.#names = blockNames(line)
  }

  step(step: IndexEventsStep, checks: Checks): void {
    if (step.op === 'store') acceptable('store', step.expect, this.#store(step), checks)
    else if (step.op === 'remove') acceptable('remove', step.expect, this.#remove(step), checks)
    else if (step.op === 'clear') this.#index.removeRank(this.#slots.of(step.rank))
    else if (step.op === 'removeRank') this.#forget([step.rank])
    else if (step.op === 'removeWorker') this.#forget(this.#slots.ranksOf(step.worker))
    else if (step.op === 'query') this.#query(step, checks)
    else if (step.expect !== undefined) inRange('size', step.expect, this.#index.currentSize, checks)
  }

  #store({ rank, tier, parent, blocks, selfParent }: Step<'store'>): string {
    const { local, engine } = this.#names.ofPath([...parent, ...blocks])
    const start = parent.length
    const parentName = selfParent === true ? engine.at(-1) : engine[start - 1]
    return this.#index.store(this.#slots.of(rank), tierOf(tier), {
      hasParent: parentName !== undefined,
      parentLow: lowOf(parentName ?? 0n),
      parentHigh: highOf(parentName ?? 0n),
      engine: hashWords(engine),
      local: hashWords(local),
      start,
      count: blocks.length,
    })
  }

  #remove({ rank, tier, paths }: Step<'remove'>): string {
    const engine = hashWords(paths.map((path) => this.#names.ofPath(path).engine.at(-1)!))
    return this.#index.remove(this.#slots.of(rank), tierOf(tier), engine, 0, paths.length)
  }

  #forget(ranks: readonly string[]): void {
    for (const rank of ranks) {
      this.#index.removeRank(this.#slots.of(rank))
      this.#slots.free(rank)
    }
  }

  #query({ path, expect }: Step<'query'>, checks: Checks): void {
    if (expect === undefined) return
    if (this.#table.capacity < this.#slots.limit) this.#table = new Table(2 * this.#slots.limit)
    const { local } = this.#names.ofPath(path)
    this.#index.lookup(hashWords(local), path.length, this.#table)
    const matched = Array.from(this.#table.rows.subarray(0, this.#table.count), (slot) =>
      this.#slots.rankOf(slot),
    )
    const expected = Object.values(expect).flatMap((byRank) => Object.keys(byRank ?? {}))
    for (const rank of new Set([...expected, ...matched])) this.#checkRank(rank, expect, checks)
  }

  #checkRank(rank: string, expect: Query, checks: Checks): void {
    const slot = this.#slots.known(rank)
    const blocks = slot === undefined ? noBlocks : this.#table.at(slot)
    for (const tier of ['device', ...lowerTiers] as const) {
      // Left out = 0.
      inRange(`${tier}["${rank}"]`, expect[tier]?.[rank] ?? 0, blocks[tier], checks)
    }
    const effectiveBlocks = lowerTiers.reduce(
      (sum, tier) => sum + weights[tier] * blocks[tier],
      blocks.device,
    )
    const cachedTokens = roundHalfAway(effectiveBlocks * this.#index.blockSize)
    for (const [what, value] of Object.entries({ effectiveBlocks, cachedTokens })) {
      const expected = expect[what as 'effectiveBlocks' | 'cachedTokens']
      if (expected !== undefined) inRange(`${what}["${rank}"]`, expected[rank] ?? 0, value, checks)
    }
  }
}

const noBlocks = { device: 0, host_pinned: 0, disk: 0, external: 0 }

function tierOf(tier: (typeof TIERS)[number] = 'device'): number {
  return TIERS.indexOf(tier)
}

function acceptable(
  what: string,
  expected: string | readonly string[] | undefined,
  actual: string,
  checks: Checks,
): void {
  if (typeof expected === 'object') {
    if (!expected.includes(actual)) checks.fail(what, `one of ${expected.join(', ')}`, actual)
  } else if (expected !== undefined) checks.equal(what, expected, actual)
}

function inRange(what: string, expected: Expected, actual: number, checks: Checks): void {
  if (typeof expected === 'number') checks.equal(what, expected, actual)
  else if (!(actual >= expected[0] && actual <= expected[1]))
    checks.fail(what, `${expected[0]} to ${expected[1]}`, actual)
}

/** Numbers of ranks. One whose rank left is given to the next new rank, as a host would. */
class Slots {
  readonly #slotOf = new Map<string, number>()
  readonly #rankOf: string[] = []
  readonly #free: number[] = []

  /** Past the largest slot ever given. */
  get limit(): number {
    return this.#rankOf.length
  }

  of(rank: string): number {
    const known = this.known(rank)
    if (known !== undefined) return known
    const slot = this.#free.pop() ?? this.limit
    this.#slotOf.set(rank, slot)
    this.#rankOf[slot] = rank
    return slot
  }

  known(rank: string): number | undefined {
    return this.#slotOf.get(rank)
  }

  /** The last rank that had a slot. */
  rankOf(slot: number): string {
    return this.#rankOf[slot]!
  }

  free(rank: string): void {
    this.#free.push(this.of(rank))
    this.#slotOf.delete(rank)
  }

  ranksOf(worker: string): string[] {
    return [...this.#slotOf.keys()].filter((rank) => rank.startsWith(`${worker}.`))
  }
}

/** Where a lookup writes; the row of a slot is the slot. */
export class Table extends OverlapRows {
  readonly capacity: number

  constructor(capacity: number) {
    super(capacity)
    this.capacity = capacity
  }

  at(row: number): typeof noBlocks {
    return {
      device: this.deviceBlocks[row]!,
      host_pinned: this.hostBlocks[row]!,
      disk: this.diskBlocks[row]!,
      external: this.externalBlocks[row]!,
    }
  }
}
