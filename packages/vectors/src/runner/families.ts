import { classicFamily } from './classic.js'
import { defaultCostFamily } from './default-cost.js'
import type { VectorFamily } from './family.js'
import { hashingFamily } from './hashing.js'
import { kvCapacityAwareFamily } from './kv-capacity-aware.js'
import { kvEventsFamily } from './kv-events.js'
import { mixRendezvousFamily } from './mix-rendezvous.js'
import { paritySequencesFamily } from './parity-sequences.js'
import { parityCostsFamily, parityMatrixFamily } from './parity.js'
import { rngFamily } from './rng.js'
import { rustAccountingFamily } from './rust-accounting.js'
import { rustIndexFamily } from './rust-index.js'
import { rustPoliciesFamily } from './rust-policies.js'
import { rustReplayFamily } from './rust-replay.js'
import { rustSelectionFamily } from './rust-selection.js'
import { selectionFamily } from './selection.js'
import { serviceSessionsFamily } from './service-sessions.js'
import { softmaxFamily } from './softmax.js'
import { waitingFamilies } from './uncovered.js'

/** Every family of JSON lines. A new one joins by standing here. */
export const families: readonly VectorFamily[] = [
  rngFamily,
  mixRendezvousFamily,
  softmaxFamily,
  selectionFamily,
  defaultCostFamily,
  kvCapacityAwareFamily,
  classicFamily,
  parityMatrixFamily,
  parityCostsFamily,
  paritySequencesFamily,
  rustSelectionFamily,
  rustPoliciesFamily,
  rustAccountingFamily,
  rustIndexFamily,
  rustReplayFamily,
  hashingFamily,
  kvEventsFamily,
  serviceSessionsFamily,
  ...waitingFamilies,
]
