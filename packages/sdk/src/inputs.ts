import type { CandidateGroups } from './candidates.js'

/** Name of one group of candidate columns. A policy sees a group only when it declares it. */
export type WorkerInputName = keyof CandidateGroups

/** The groups that a policy, or one component of it, declares. Order and repetition carry no meaning. */
export type WorkerInputs = readonly WorkerInputName[]

/** Every group of the contract, in the order of its documentation. */
export const workerInputNames = [
  'cache',
  'load',
  'preferredTaint',
  'capacity',
  'occupancy',
  'prefillTime',
] as const satisfies readonly WorkerInputName[]

// Elements that a tuple surely has; a plain array promises none, a tuple with a spread those before the spread.
type Certain<I extends WorkerInputs> = I extends readonly [infer First, ...infer Rest extends WorkerInputs]
  ? First | Certain<Rest>
  : never
type MissingInSome<I extends WorkerInputs> = I extends unknown ? Exclude<WorkerInputName, Certain<I>> : never
// Groups that no tuple of the union `I` leaves out.
type Always<I extends WorkerInputs> = Exclude<WorkerInputName, MissingInSome<I>>
type Anywhere<I extends WorkerInputs> = I extends unknown ? I[number] : never

/**
 * The groups that a component sees when `I` is declared: in every tuple of `I`, present; in some, possibly
 * `undefined`; in none, absent from the type, so that reading it does not compile.
 */
export type DeclaredGroups<I extends WorkerInputs> = {
  readonly [K in Always<I>]: CandidateGroups[K]
} & {
  readonly [K in Exclude<Anywhere<I>, Always<I>>]: CandidateGroups[K] | undefined
}
