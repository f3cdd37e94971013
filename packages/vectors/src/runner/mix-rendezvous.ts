import { mix, rendezvousRow, rendezvousWeight } from '@router/sdk'
import { type MixRendezvousLine, mixRendezvousLine } from '../shapes/mix-rendezvous.js'
import type { Checks } from './checks.js'
import { defineFamily } from './family.js'
import { kindsOf } from './kinds.js'

/** Hashing for choices. */
export const mixRendezvousFamily = defineFamily({
  name: 'mix-rendezvous',
  recognises: kindsOf(mixRendezvousLine),
  covers: '@router/sdk',
  schema: mixRendezvousLine,
  evaluate: (line, checks) => evaluators[line.kind](line as never, checks),
})

type Evaluators = {
  [K in MixRendezvousLine['kind']]: (line: Extract<MixRendezvousLine, { kind: K }>, checks: Checks) => void
}

const evaluators: Evaluators = {
  mix: ({ input, output }, checks) => checks.equal('output', BigInt(output), mix(BigInt(input))),
  rendezvous: ({ key, seed, dpRank, workerIds, weights }, checks) => {
    const expected = weights.map(BigInt)
    const weightOf = (id: string): bigint => rendezvousWeight(BigInt(key), BigInt(id), dpRank, BigInt(seed))
    const fromRow = (id: string): bigint => mix(BigInt(key) ^ rendezvousRow(BigInt(id), dpRank, BigInt(seed)))
    checks.list('weights', expected, workerIds.map(weightOf))
    checks.within('from the part of the row', () => checks.list('weights', expected, workerIds.map(fromRow)))
  },
  order: ({ key, seed, dpRank, workerIds }, checks) => {
    const weighted = workerIds.map((id) => ({
      id: BigInt(id),
      weight: rendezvousWeight(BigInt(key), BigInt(id), dpRank, BigInt(seed)),
    }))
    // Equal weights go to the first in worker order.
    weighted.sort((a, b) => compare(b.weight, a.weight) || compare(a.id, b.id))
    checks.list(
      'workerIds',
      workerIds.map(BigInt),
      weighted.map(({ id }) => id),
    )
  },
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}
