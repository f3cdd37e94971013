import type { WorkerRank } from '@router/sdk'
import type { ReferenceOutcome, ReferenceResult, Snapshot } from '../snapshot.js'
import type { ParityExplanation, ParityOutcome } from './implementation.js'

/** An implementation and the oracle differ; the message names the field, both values with their bits, and prints the case. */
export class ParityMismatch extends Error {
  override readonly name = 'ParityMismatch'
}

/** Any value of a case as text; bigints print as `10n`, -0 as `-0`. */
export function printed(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  if (value === undefined || value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(printed).join(', ')}]`
  const entries = Object.entries(value).map(([key, entry]) => `${key}: ${printed(entry)}`)
  return `{ ${entries.join(', ')} }`
}

function withBits(value: unknown): string {
  if (typeof value !== 'number') return printed(value)
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  return `${printed(value)} (0x${view.getBigUint64(0).toString(16).padStart(16, '0')})`
}

function isSame(left: unknown, right: unknown): boolean {
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) {
    return Object.is(left, right)
  }
  return printed(left) === printed(right)
}

function requireSame(field: string, expected: unknown, actual: unknown, context: unknown): void {
  if (isSame(expected, actual)) return
  const difference = `${field}: expected ${withBits(expected)}, got ${withBits(actual)}`
  throw new ParityMismatch(`${difference}\n${printed(context)}`)
}

function requireList<T>(
  field: string,
  expected: readonly T[],
  actual: readonly T[],
  context: unknown,
  nameOf: (index: number) => string,
): void {
  requireSame(`number of ${field}`, expected.length, actual.length, context)
  expected.forEach((value, index) => requireSame(`${field} ${nameOf(index)}`, value, actual[index], context))
}

const rankName = ({ workerId, dpRank }: WorkerRank): string => `${workerId}.${dpRank}`

function requireError(
  expected: ReferenceOutcome['error'],
  actual: ReferenceOutcome['error'],
  context: unknown,
): void {
  requireSame('error code', expected?.code, actual?.code, context)
  for (const [name, value] of Object.entries(expected?.details ?? {})) {
    requireSame(`error detail ${name}`, value, actual?.details[name], context)
  }
}

const resultFields = [
  'workerId',
  'dpRank',
  'requiredBlocks',
  'effectiveOverlapBlocks',
  'cachedTokens',
  'maxRawCachedTokens',
  'selectedRawCachedTokens',
  'potentialDecodeBlocks',
  'bestOverlapBlocks',
] as const satisfies readonly (keyof ReferenceResult)[]

/**
 * Compares one selection: error code and details; or every kept row, every cost bit, the chosen row and the accounting
 * facts. Throws `ParityMismatch`; `context` is what its message prints.
 */
export function requireSameOutcome(
  expected: ReferenceOutcome,
  actual: ParityOutcome,
  context: unknown,
): void {
  requireError(expected.error, actual.error, context)
  if (expected.result === undefined) return
  const names = expected.eligible.map(rankName)
  requireList('kept row', names, actual.ranks?.map(rankName) ?? [], context, String)
  requireList('cost of', expected.costs, actual.costs ?? [], context, (index) => names[index]!)
  requireSame('result', true, actual.result !== undefined, context)
  for (const field of resultFields) requireSame(field, expected.result[field], actual.result![field], context)
  const best = [expected.result, actual.result!].map(({ bestOverlapWorker }) => bestOverlapWorker)
  requireSame('bestOverlapWorker', best[0] && rankName(best[0]), best[1] && rankName(best[1]), context)
}

/** Compares an explanation: error, totals, tie set, mode, and, without a pin, the rejection of each rank and the taint multipliers. */
export function requireSameExplanation(
  expected: ReferenceOutcome,
  actual: ParityExplanation,
  snapshot: Snapshot,
  context: unknown,
): void {
  requireError(expected.error, actual.error, context)
  if (snapshot.constraints.pinnedWorker === null) {
    const rejections = [expected, actual].map(({ rejected }) =>
      rejected.map(([rank, reason]) => `${rankName(rank)} ${reason}`),
    )
    requireList('rejection', rejections[0]!, rejections[1]!, context, String)
  }
  if (expected.result === undefined) return
  const names = expected.eligible.map(rankName)
  requireList('explained cost of', expected.costs, actual.costs, context, (index) => names[index]!)
  requireList('tied row', expected.tieSet.map(rankName), actual.tieSet.map(rankName), context, String)
  requireSame('mode', expected.mode, actual.mode, context)
  requireList(
    'taint multiplier of',
    expected.taintMultipliers ?? [],
    actual.taintMultipliers ?? [],
    context,
    (index) => names[index]!,
  )
}
