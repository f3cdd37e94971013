import { handMadePrefixHashes } from './hand-made-context.js'
import type { HandMadeRow } from './hand-made-view.js'
import { type Step, rankIds } from './steps.js'
import type { Subject } from './subject.js'

/** A step with words for a message. */
export interface NamedStep {
  readonly name: string
  readonly step: Step
}

const largestCount = 2 ** 40
const allKnown = { cache: {}, load: {}, totalKvBlocks: 4096, maxNumBatchedTokens: 8192, prefillBacklogMs: 0 }

/** Fleets at the ends of what a host can deliver, everything known; prompts from one token to a million. */
export function extremeSteps(subject: Subject): NamedStep[] {
  const ranks = rankIds(6)
  const fleets: Record<string, (index: number) => Partial<HandMadeRow>> = {
    idle: () => ({}),
    equal: () => ({ load: { activePrefillTokens: 500, decodeCostBlocks: 40, activeRequests: 3 } }),
    crowded: (index) => ({ load: load(1e6 + index, 1e5 + index, 1000 + index), reservations: 1000 }),
    huge: (index) => ({
      load: load(largestCount, largestCount + index, largestCount),
      prefillBacklogMs: 1e12,
    }),
    'one busy rank': (index) => ({
      load: load(index === 1 ? 4096 : 0, index === 1 ? 512 : 0, index === 1 ? 9 : 0),
    }),
    'fully cached': () => ({ cache: { deviceOverlapBlocks: 63 } }),
    'cached beyond the prompt': () => ({ cache: { deviceOverlapBlocks: 9999, estimateTokens: 1e6 } }),
    'only estimates': (index) => ({ cache: { estimateBlocks: index + 0.75 } }),
    'tiny capacity': () => ({ totalKvBlocks: 1, maxNumBatchedTokens: 1 }),
  }
  const prompts = [1, 16, 1000, 1_000_000]
  return Object.entries(fleets).flatMap(([fleet, factsOf]) =>
    prompts.map((promptTokens) => ({
      name: `${fleet} fleet, prompt of ${promptTokens} tokens`,
      step: {
        rows: ranks.map((rank, index) => ({ ...rank, ...allKnown, ...factsOf(index) })),
        facts: requestFacts(subject, promptTokens, 16),
      },
    })),
  )
}

/** An idle fleet of `size` ranks: every row ties. */
export function idleStep(subject: Subject, size: number): Step {
  return {
    rows: rankIds(size).map((rank) => ({ ...rank, ...allKnown })),
    facts: requestFacts(subject, 100, 16),
  }
}

/** Fleets in which the host lacks a fact of one row or of all. */
export function unknownSteps(subject: Subject): NamedStep[] {
  const busy = {
    ...allKnown,
    load: load(900, 70, 3),
    cache: { deviceOverlapBlocks: 2 },
    prefillBacklogMs: 40,
  }
  const unknown: Record<string, Partial<HandMadeRow>> = {
    load: { load: 'unknown' },
    cache: { cache: 'unknown' },
    capacity: { totalKvBlocks: 0, maxNumBatchedTokens: 0 },
    'prefill backlog': { prefillBacklogMs: NaN },
    worker: { worker: undefined },
    anything: {
      load: 'unknown',
      cache: 'unknown',
      totalKvBlocks: 0,
      maxNumBatchedTokens: 0,
      prefillBacklogMs: NaN,
    },
  }
  const which: Record<string, (index: number) => boolean> = {
    'the first row': (index) => index === 0,
    'all rows but one': (index) => index !== 2,
    'every row': () => true,
  }
  return Object.entries(unknown).flatMap(([fact, facts]) =>
    Object.entries(which).map(([rows, affects]) => ({
      name: `${fact} of ${rows} unknown`,
      step: {
        rows: rankIds(5).map((rank, index) => ({ ...rank, ...busy, ...(affects(index) ? facts : {}) })),
        facts: requestFacts(subject, 100, 16),
      },
    })),
  )
}

/** Prompts of 0, 1, 2, 3 and 4 whole blocks over one and the same cold fleet. */
export interface EmptyPromptCase {
  readonly name: string
  readonly blockSize: number
  readonly steps: readonly Step[]
}

/** Cold fleets, idle and busy, with and without taints and tier maps. */
export function emptyPromptSteps(subject: Subject): EmptyPromptCase[] {
  const multipliers = [0.5, 1, 2]
  const cases: EmptyPromptCase[] = []
  for (const blockSize of [4096, 1000]) {
    for (const fleet of ['idle', 'busy']) {
      for (const taints of [false, true]) {
        for (const hasTierMatches of [false, true]) {
          const rows = rankIds(3).map((rank, index) => ({
            ...rank,
            ...allKnown,
            load: fleet === 'idle' ? load(0, 0, 0) : load(700 * index, 20 + index, 2),
            totalKvBlocks: 1e6,
            ...(taints ? { taintMultiplier: multipliers[index]! } : {}),
          }))
          const steps = [0, 1, 2, 3, 4].map((blocks) => ({
            rows,
            hasTierMatches,
            facts: requestFacts(subject, blocks * blockSize, blockSize),
          }))
          const name = `${fleet} fleet, block size ${blockSize}${taints ? ', preferred taints' : ''}`
          cases.push({ name, blockSize, steps })
        }
      }
    }
  }
  return cases
}

function load(activePrefillTokens: number, decodeCostBlocks: number, activeRequests: number) {
  return { activePrefillTokens, decodeCostBlocks, activeRequests }
}

function requestFacts(subject: Subject, promptTokens: number, blockSize: number) {
  const blocks = Math.floor(promptTokens / blockSize)
  return {
    promptTokens,
    blockSize,
    tracksPrefillTokens: subject.role !== 'decode',
    prefixHashes: subject.role === 'prefill' ? undefined : handMadePrefixHashes(5n, blocks),
  }
}
