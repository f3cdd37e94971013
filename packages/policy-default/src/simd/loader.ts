import { type PolicyMemory, type ScratchRegion, type WyRand, instantiateKernel } from '@router/sdk'
import type { ColumnPlaces } from '../column-places.js'
import type { CostTerms } from '../cost-terms.js'
import type { DefaultCandidates } from '../inputs.js'
import { scoreRows } from '../kernel.js'
import { moduleHex } from './kernel-module.js'

interface CostKernel {
  readonly score: (
    params: number,
    mode: number,
    end: number,
    active: number,
    estimateTokens: number,
    device: number,
    host: number,
    disk: number,
    decode: number,
    costs: number,
  ) => void
  readonly addRequestAndAffinity: (
    params: number,
    end: number,
    requests: number,
    device: number,
    costs: number,
  ) => void
  readonly multiply: (end: number, taints: number, costs: number) => void
  readonly minimumPrefill: (active: number, count: number, out: number) => void
  readonly nextGroupAtMost: (costs: number, from: number, count: number, best: number) => number
  readonly extremes: (costs: number, count: number, out: number) => void
  readonly exponentials: (params: number, costs: number, count: number, weights: number, out: number) => void
  readonly pickByProbability: (params: number, weights: number, count: number) => number
}

// Modes of `score` in kernel.assembly.ts.
const exact = 0
const general = 2
const withDecay = 1
const subtracting = 4

const doubleBytes = 8
const paramCount = 20
const minimumPrefillParam = 13
/** The lowest cost so far of a pick. */
const boundParam = 14
/** Lowest and highest cost, or scale and shift, of a softmax. */
const softmaxParam = 15
/** Sum of the weights, and the uniform. */
const drawParam = 17

/** The SIMD kernel over the column memory of one policy object. */
export class SimdKernel {
  readonly #kernel: CostKernel
  readonly #scratch: ScratchRegion
  readonly #weights: ScratchRegion
  #totalsColumn: Float64Array | undefined
  #totals = 0

  private constructor(kernel: CostKernel, memory: PolicyMemory) {
    this.#kernel = kernel
    this.#scratch = memory.allocate(paramCount * doubleBytes)
    this.#weights = memory.allocateColumn()
  }

  /** Requests whose terms the kernel has; the others are for the plain loop. */
  static canScore(terms: CostTerms, candidates: DefaultCandidates): boolean {
    return terms.usesCache && (terms.tracks || terms.subtracts) && candidates.cache!.sharedHits === undefined
  }

  /** `undefined` where this memory or engine cannot run it. */
  static over(memory: PolicyMemory): SimdKernel | undefined {
    const kernel = instantiateKernel<CostKernel>(moduleHex, memory.webAssemblyMemory)
    return kernel === undefined ? undefined : new SimdKernel(kernel, memory)
  }

  /** Writes all costs of a request that `canScore`, over columns that lie in the kernel's memory. */
  score(terms: CostTerms, candidates: DefaultCandidates, at: ColumnPlaces, costs: Float64Array): void {
    const { count, load } = candidates
    const params = this.#scratch.float64
    const paramsAt = params.byteOffset
    const end = (count & ~1) * doubleBytes
    const device = terms.hasTierMatches ? at.device : at.estimateBlocks
    fillParams(terms, params)
    if (terms.usesDecay)
      this.#kernel.minimumPrefill(at.active, count, paramsAt + minimumPrefillParam * doubleBytes)
    const mode = modeOf(terms, load.allAvailable && candidates.cache!.allAvailable)
    this.#kernel.score(
      paramsAt,
      mode,
      end,
      at.active,
      at.estimateTokens,
      device,
      at.host,
      at.disk,
      at.decode,
      at.costs,
    )
    if (terms.addsRequestOrAffinity) {
      this.#kernel.addRequestAndAffinity(paramsAt, end, at.requests, device, at.costs)
    }
    if (terms.appliesTaints) this.#kernel.multiply(end, at.taints, at.costs)
    // The last odd row; the kernel takes pairs and never reads past the rows.
    if ((count & 1) === 1) scoreRows(terms, candidates, params[minimumPrefillParam]!, count - 1, costs)
  }

  /** Whether columns over `buffer` lie in the kernel's memory; those of a hand-made view do not. */
  holds(buffer: ArrayBufferLike): boolean {
    return buffer === this.#scratch.float64.buffer
  }

  /** Whether the kernel can pick from these totals; where they lie is looked up once a column. */
  canRead(costs: Float64Array): boolean {
    if (this.#totalsColumn === costs) return true
    if (!this.holds(costs.buffer)) return false
    this.#totalsColumn = costs
    this.#totals = costs.byteOffset
    return true
  }

  /** `pickMinimumCost` over rows in canonical order, draw for draw, for costs that `canRead` accepted. */
  pickMinimum(costs: Float64Array, count: number, random: WyRand): number {
    const bound = this.#scratch.float64
    const boundAt = bound.byteOffset + boundParam * doubleBytes
    let best = costs[0]!
    let chosen = 0
    let ties = 1
    let row = 1
    bound[boundParam] = best
    while (row < count) {
      // The first group is looked at row by row: the best so far is in it.
      if ((row & 3) === 0) row = this.#kernel.nextGroupAtMost(this.#totals, row, count, boundAt)
      const end = row + 4 - (row & 3)
      const last = end < count ? end : count
      for (; row < last; row++) {
        const cost = costs[row]!
        if (cost > best) continue
        ties = cost < best ? 1 : ties + 1
        if (ties === 1 || random.below(ties) === 0) chosen = row
        best = cost
      }
      bound[boundParam] = best
    }
    return chosen
  }

  /** `pickSoftmax` over rows in canonical order, draw for draw; -1 = nothing drawn, the spread is not for this kernel. */
  pickSoftmax(count: number, temperature: number, random: WyRand): number {
    const params = this.#scratch.float64
    const softmaxAt = params.byteOffset + softmaxParam * doubleBytes
    const drawAt = params.byteOffset + drawParam * doubleBytes
    this.#kernel.extremes(this.#totals, count, softmaxAt)
    const low = params[softmaxParam]!
    const spread = params[softmaxParam + 1]! - low
    if (spread === Infinity) return -1
    const scale = spread === 0 ? 0 : -1 / (spread * temperature)
    const shift = low * scale
    // Spread x temperature is too small for a double.
    if (shift - shift !== 0) return -1
    params[softmaxParam] = scale
    params[softmaxParam + 1] = shift
    const weightsAt = this.#weights.byteOffset
    this.#kernel.exponentials(softmaxAt, this.#totals, count, weightsAt, drawAt)
    params[drawParam + 1] = random.unit()
    return this.#kernel.pickByProbability(drawAt, weightsAt, count)
  }
}

function fillParams(terms: CostTerms, params: Float64Array): void {
  params[0] = terms.promptTokens
  params[1] = terms.blockSize
  params[2] = 1 / terms.blockSize
  params[3] = terms.blocks
  params[4] = terms.blocksForDivision
  params[5] = 1 / terms.blocksForDivision
  params[6] = terms.credit
  params[7] = terms.decayWeight
  params[8] = terms.scale
  params[9] = terms.hostWeight
  params[10] = terms.diskWeight
  params[11] = terms.requestWeight
  params[12] = terms.chargesAffinity ? terms.affinityWeight : 0
}

function modeOf(terms: CostTerms, isComplete: boolean): number {
  if (terms.subtracts) return subtracting
  const isExact =
    isComplete && isPowerOfTwo(terms.blockSize) && (!terms.usesDecay || isPowerOfTwo(terms.blocksForDivision))
  return (isExact ? exact : general) + (terms.usesDecay ? withDecay : 0)
}

/** A power of two has an exact reciprocal, so that multiplying by it gives the same bits as dividing. */
function isPowerOfTwo(value: number): boolean {
  return value < 2 ** 31 && (value & (value - 1)) === 0
}
