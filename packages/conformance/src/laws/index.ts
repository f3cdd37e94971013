import type { Law } from '../law.js'
import { emptyPrompt, finiteCosts, pickerRow, unfilledTaints, unknownRows } from './cost-laws.js'
import {
  inputsReserved,
  metadata,
  parametersFinite,
  parametersStrict,
  runtimeNames,
} from './definition-laws.js'
import { declaredInputs, noAmbient, noMutation, staleViews, survivesThrow } from './isolation-laws.js'
import { hooksTotal, reconfigureFull, reconfigureSame, snapshotRoundTrip } from './life-cycle-laws.js'
import { liveHost, liveQueries, liveViews } from './live-laws.js'
import { explainRows, filteredRows, fleetChanges, leftOvers, rowPermutation } from './order-laws.js'
import {
  deterministicSeed,
  freshObjects,
  kernelsAgree,
  movedColumns,
  queryRule,
  renamedPolicy,
  reservedUnused,
} from './repetition-laws.js'

/** Every law, in the order in which a report lists them. */
export const laws: readonly Law[] = Object.freeze([
  metadata,
  parametersStrict,
  parametersFinite,
  runtimeNames,
  inputsReserved,
  declaredInputs,
  finiteCosts,
  unknownRows,
  emptyPrompt,
  unfilledTaints,
  pickerRow,
  explainRows,
  noMutation,
  noAmbient,
  staleViews,
  leftOvers,
  rowPermutation,
  filteredRows,
  fleetChanges,
  movedColumns,
  kernelsAgree,
  deterministicSeed,
  freshObjects,
  renamedPolicy,
  queryRule,
  survivesThrow,
  reservedUnused,
  reconfigureSame,
  reconfigureFull,
  snapshotRoundTrip,
  hooksTotal,
  liveHost,
  liveQueries,
  liveViews,
])
