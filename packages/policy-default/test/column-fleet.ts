import { type TestMemory, handMadeContext, handMadeView } from '@router/conformance'
import { type RouterDefaults, type WorkerRole, WyRand, requestBlocks, routerDefaults } from '@router/sdk'
import { CostTerms } from '../src/cost-terms.js'
import type { DefaultCandidates } from '../src/inputs.js'

const doubleColumns = [
  'costs',
  'active',
  'decode',
  'requests',
  'device',
  'host',
  'disk',
  'estimateBlocks',
  'estimateTokens',
  'taints',
] as const
type DoubleColumn = (typeof doubleColumns)[number]

/** What a view says of all its rows. */
export interface FleetFlags {
  readonly hasTierMatches?: boolean
  readonly appliesTaints?: boolean
}

/** Values of a random fleet. `tied` = few different ones, `huge` = near the largest double. */
export type FleetShape = 'ordinary' | 'tied' | 'huge'

/** Candidate columns at odd offsets of one memory, left-overs behind the rows. */
export class ColumnFleet {
  readonly memory: TestMemory
  readonly capacity: number
  doubles!: Record<DoubleColumn, Float64Array>
  readonly knowsLoad: Uint8Array
  readonly knowsCache: Uint8Array

  constructor(memory: TestMemory, capacity: number) {
    this.memory = memory
    this.capacity = capacity
    this.knowsLoad = new Uint8Array(capacity)
    this.knowsCache = new Uint8Array(capacity)
    this.place()
  }

  /** Lays the columns out anew; contents are lost. Every second one starts in the middle of a pair of doubles. */
  place(): void {
    const stride = this.capacity | 1
    this.memory.releaseColumns()
    const { buffer, byteOffset } = this.memory.place(new Float64Array(doubleColumns.length * stride))
    const column = (index: number): Float64Array =>
      new Float64Array(buffer, byteOffset + index * stride * 8, this.capacity)
    this.doubles = Object.fromEntries(doubleColumns.map((name, index) => [name, column(index)])) as never
  }

  /** Random rows, every third of them without load or cache when `hasUnknown`; `poison` in every entry past them. */
  fill(count: number, random: WyRand, shape: FleetShape, hasUnknown: boolean, poison: number): void {
    const { costs, taints, active, decode, requests, ...cache } = this.doubles
    const draw = valueOf(shape, random)
    for (const column of Object.values(this.doubles)) column.fill(poison)
    this.knowsLoad.fill(1)
    this.knowsCache.fill(1)
    for (let row = 0; row < count; row++) {
      costs[row] = NaN
      taints[row] = Math.exp(random.unit() * 2 - 1)
      this.knowsLoad[row] = hasUnknown && random.below(3) === 0 ? 0 : 1
      this.knowsCache[row] = hasUnknown && random.below(3) === 0 ? 0 : 1
      for (const column of [active, decode, requests]) column[row] = this.knowsLoad[row] === 1 ? draw() : NaN
      for (const column of Object.values(cache)) column[row] = this.knowsCache[row] === 1 ? draw() : NaN
    }
  }

  candidates(count: number, flags: FleetFlags = {}): DefaultCandidates {
    const { hasTierMatches = true, appliesTaints = false } = flags
    const { active, decode, requests, device, host, disk, estimateBlocks, estimateTokens, taints } =
      this.doubles
    const isFull = (column: Uint8Array): boolean => column.subarray(0, count).every((known) => known === 1)
    return {
      ...handMadeView([], { groups: [] }),
      count,
      load: {
        isAvailable: this.knowsLoad,
        allAvailable: isFull(this.knowsLoad),
        activePrefillTokens: active,
        decodeCostBlocks: decode,
        activeRequests: requests,
      },
      cache: {
        isAvailable: this.knowsCache,
        allAvailable: isFull(this.knowsCache),
        deviceOverlapBlocks: device,
        hostOverlapBlocks: host,
        diskOverlapBlocks: disk,
        estimateBlocks,
        estimateTokens,
        hasTierMatches,
        sharedHits: undefined,
      },
      preferredTaint: { applies: appliesTaints, multiplier: taints },
    } as unknown as DefaultCandidates
  }
}

function valueOf(shape: FleetShape, random: WyRand): () => number {
  const fractions = [0, 0, 0.5, 0.75]
  if (shape === 'tied') return () => random.below(3)
  if (shape === 'ordinary') return () => random.below(400) + fractions[random.below(4)]!
  return () => (random.below(3) === 0 ? 1e308 * random.unit() : random.below(40))
}

/** What the terms of one selection come from. */
export interface TermsOptions {
  readonly role?: WorkerRole
  readonly weights?: Partial<RouterDefaults>
  readonly promptTokens?: number
  readonly blockSize?: number
  readonly tracks?: boolean
}

/** The terms of a selection over these candidates. */
export function termsOf(candidates: DefaultCandidates, options: TermsOptions = {}): CostTerms {
  const { role = 'aggregated', weights = {}, promptTokens = 1000, blockSize = 16, tracks = true } = options
  const scope = { role, conditionalDisaggregation: true, routerDefaults, reservesRuntimeInputs: false }
  const terms = new CostTerms(scope, { ...routerDefaults, ...weights })
  const facts = {
    promptTokens,
    blockSize,
    requestBlocks: requestBlocks(promptTokens, blockSize),
    tracksPrefillTokens: tracks,
  }
  terms.prepare(handMadeContext(handMadeView([]), facts), candidates)
  return terms
}

/** Every combination of the values of an object of lists. */
export function combinations<T extends object>(lists: { [K in keyof T]: readonly T[K][] }): T[] {
  return Object.entries<readonly unknown[]>(lists).reduce<object[]>(
    (done, [name, values]) => done.flatMap((one) => values.map((value) => ({ ...one, [name]: value }))),
    [{}],
  ) as T[]
}

/** Draws between two states of a stream; throws beyond 100. */
export function drawsBetween(start: bigint, end: bigint): number {
  const replay = new WyRand(start)
  for (let draws = 0; draws <= 100; draws++) {
    if (replay.state === end) return draws
    replay.step()
  }
  throw new Error('more than 100 draws')
}
