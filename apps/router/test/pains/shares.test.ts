import { describe, expect, it } from 'vitest'
import { everybody, testFleet } from '../fleet/support.js'

// Shares of the default policy among workers without events; draws come from seeds 1, 2, 3, ...

interface Prompt {
  readonly tokens: readonly number[]
}

/** So many prompts, no two of which share a block. */
function uniquePrompts(count: number, from = 0): Prompt[] {
  return Array.from({ length: count }, (_, at) => ({
    tokens: Array.from({ length: 32 }, (_token, index) => 32 * (from + at) + index),
  }))
}

/** Workers from 1 on. */
function fleetOf(workers: number) {
  const { fleet, add } = testFleet()
  for (let id = 1; id <= workers; id++) add(id)
  let requests = 0
  const live: { readonly id: string; readonly worker: number }[] = []
  /** Sends prompts in turn; before each one, what makes more than `inFlight` ends. Requests by worker, from worker 1 on. */
  const send = (prompts: readonly Prompt[], inFlight: number): number[] => {
    const shares = Array.from({ length: fleet.workers.size }, () => 0)
    for (const prompt of prompts) {
      while (live.length >= inFlight) fleet.free(live.shift()!.id)
      const id = `r${requests++}`
      const worker = Number(fleet.reserve(everybody, { prompt }, { requestId: id }).workerId)
      live.push({ id, worker })
      shares[worker - 1]!++
    }
    return shares
  }
  return { fleet, add, send }
}

const largest = (shares: readonly number[]) => Math.max(...shares)
const smallest = (shares: readonly number[]) => Math.min(...shares)

/** Standard deviation over mean. */
function variation(shares: readonly number[]): number {
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length
  return Math.sqrt(shares.reduce((sum, share) => sum + (share - mean) ** 2, 0) / shares.length) / mean
}

describe('prompts that nobody knows', () => {
  it('U13: a worker that joins under them gets less than 1.5 times its share', () => {
    const { add, send } = fleetOf(4)
    // The indexes of the others are long by then.
    send(uniquePrompts(600), 40)
    add(5)
    const joined = send(uniquePrompts(200, 600), 40)[4]!
    expect(joined).toBeGreaterThan(20)
    expect(joined).toBeLessThan((1.5 * 200) / 5)
  })

  it('U14: an idle fleet of four gives each of them 70 to 130 of 400', () => {
    const shares = fleetOf(4).send(uniquePrompts(400), 1)
    expect(smallest(shares)).toBeGreaterThanOrEqual(70)
    expect(largest(shares)).toBeLessThanOrEqual(130)
  })

  it.each([1, 30])(
    'U19: 1,000 over five workers, %i at once: the most is below 1.5 times the least',
    (inFlight) => {
      const shares = fleetOf(5).send(uniquePrompts(1000), inFlight)
      expect(largest(shares) / smallest(shares)).toBeLessThan(1.5)
    },
  )
})

describe('a burst', () => {
  it('U47: of one prompt, 64 at once on eight workers: nobody gets four times its share', () => {
    const { fleet, send } = fleetOf(8)
    const [prompt] = uniquePrompts(1)
    const holders = () =>
      fleet.overlaps(everybody, { prompt: prompt! }).ranks.filter(({ deviceBlocks }) => deviceBlocks === 8)
    const first = send([prompt!], 64)
    expect(holders().map(({ workerId }) => Number(workerId) - 1)).toEqual([first.indexOf(1)])
    const rest = send(
      Array.from({ length: 63 }, () => prompt!),
      64,
    )
    expect(largest(rest)).toBeLessThan((4 * 64) / 8)
    expect(smallest(rest)).toBeGreaterThan(0)
    expect(holders()).toHaveLength(8)
  })

  it('U48: of 100 at once is spread evenly by what was booked just before', () => {
    const shares = fleetOf(8).send(uniquePrompts(100), 100)
    expect(variation(shares)).toBeLessThan(0.5)
    expect(largest(shares) - smallest(shares)).toBeLessThanOrEqual(1)
  })
})
