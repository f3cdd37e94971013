import { defaultPolicy } from '@router/policy-default'
import type { Snapshot } from '@router/reference-selector'
import type { Body } from '../../harness/variant.js'
import {
  benchBlockSize,
  benchPromptTokens,
  requestOf,
  selectorOver,
  standardFleet,
  tableOf,
} from '../fleet.js'
import { resolved } from '../policies.js'
import type { Group } from './group.js'

function withoutCapacity(fleet: Snapshot): Snapshot {
  return { ...fleet, workers: fleet.workers.map((worker) => ({ ...worker, totalKvBlocks: null })) }
}

/** One hash per complete block of the prompt. */
function prefixHashes() {
  const count = benchPromptTokens / benchBlockSize
  return {
    count,
    high: Uint32Array.from({ length: count }, (_, block) => Math.imul(block + 1, 0x9e37_79b9)),
    low: Uint32Array.from({ length: count }, (_, block) => Math.imul(block + 1, 0x85eb_ca6b)),
  }
}

function body(workers: number, hasBoth: boolean): Body {
  const fleet = standardFleet(workers)
  const table = tableOf(hasBoth ? fleet : withoutCapacity(fleet))
  const selector = selectorOver(table, resolved(defaultPolicy))
  const request = requestOf(fleet, hasBoth ? { prefixHashes: prefixHashes() } : {})
  return () => selector.select(request).slot
}

const cold = (name: string) => ({ name: `contract/${name}`, temperature: 0 })
const plain = cold('a')
const plainAgain = cold('a-again')
const both = cold('b')

/** Groups that the default policy does not declare must not cost it anything. */
export const contractGroup: Group = {
  name: 'contract',
  title: 'the default policy: a = neither advertised capacity nor prefix hashes, b = both',
  sizes: [64, 1024, 4096],
  contest: (workers) => ({
    group: 'contract',
    workers,
    ranks: 2,
    roundsFactor: 4,
    variants: [
      { ...plain, prepare: () => body(workers, false) },
      { ...plainAgain, prepare: () => body(workers, false) },
      { ...both, prepare: () => body(workers, true) },
    ],
    comparisons: [
      { of: plainAgain, to: plain },
      { of: both, to: plain },
    ],
  }),
}
