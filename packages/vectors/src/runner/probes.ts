import {
  type CandidateRows,
  type WorkerInputName,
  type WorkerPicker,
  type WorkerScorer,
  type WorkerCandidates,
  definePolicy,
} from '@router/sdk'
import { z } from 'zod'
import { resolveDefinition } from './policies.js'

/** Components of a policy that exists for one case only. */
export interface Probe {
  readonly inputs?: readonly WorkerInputName[]
  readonly affinity?: 'exclusive' | 'advisory'
  readonly scorers?: readonly WorkerScorer<WorkerCandidates>[]
  readonly picker?: WorkerPicker<WorkerCandidates>
}

/** A resolved policy made of scripted components; without a picker the first row wins. */
export function probePolicy({
  inputs = [],
  affinity = 'advisory',
  scorers = [],
  picker = pickRow(0),
}: Probe) {
  return resolveDefinition(
    definePolicy({
      type: 'vector-probe',
      version: '1.0.0',
      stability: 'stable',
      roles: ['aggregated', 'prefill', 'decode', 'encode'],
      affinity,
      parameters: z.strictObject({}),
      inputs: inputs as readonly WorkerInputName[],
      create: () => ({ scorers, picker }) as never,
    }),
  )
}

/** Returns this row, whatever it is. */
export function pickRow(row: number): WorkerPicker<CandidateRows> {
  return { name: 'scripted', inputs: [], pick: () => row }
}

/** Writes these costs; `undefined` = leaves the cell as it is. */
export function scriptedScorer(costs: readonly (number | undefined)[]): WorkerScorer<CandidateRows> {
  return {
    name: 'scripted',
    inputs: [],
    score: (_context, _candidates, out) => {
      for (const [row, cost] of costs.entries()) if (cost !== undefined) out[row] = cost
    },
  }
}
