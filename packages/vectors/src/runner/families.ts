import type { VectorFamily } from './family.js'
import { mixRendezvousFamily } from './mix-rendezvous.js'
import { rngFamily } from './rng.js'
import { softmaxFamily } from './softmax.js'
import { waitingFamilies } from './uncovered.js'

/** Every family of JSON lines. A new one joins by standing here. */
export const families: readonly VectorFamily[] = [
  rngFamily,
  mixRendezvousFamily,
  softmaxFamily,
  ...waitingFamilies,
]
