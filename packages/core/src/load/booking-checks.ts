import type { HashWords } from '@router/kv-index'
import { RouterError } from '@router/sdk'
import type { Booking } from './booking.js'

/** Refuses a booking that cannot be. Error: `ROUTER_BAD_REQUEST`. */
export function checkBooking(booking: Booking): void {
  const { requestId, prefillTokens = 0, prefillDurationMs = 0, expectedOutputTokens = 0 } = booking
  if (typeof requestId !== 'string') throw bad('requestId', requestId, 'a string')
  checkHashes(booking.hashes, booking.hashCount)
  checkCount('prefillTokens', prefillTokens)
  checkCount('expectedOutputTokens', expectedOutputTokens)
  if (!(prefillDurationMs >= 0 && prefillDurationMs < Infinity))
    throw bad('prefillDurationMs', prefillDurationMs, 'a finite number >= 0')
}

/** How many hashes count. Error: `ROUTER_BAD_REQUEST`. */
export function checkHashes(hashes: HashWords | undefined, hashCount: number | undefined): number {
  const present = hashes === undefined ? 0 : hashes.length >> 1
  if (hashCount === undefined) return present
  if (Number.isInteger(hashCount) && hashCount >= 0 && hashCount <= present) return hashCount
  throw bad('hashCount', hashCount, `an integer from 0 to ${present}, the hashes given`)
}

/** Error: `ROUTER_BAD_REQUEST`. */
export function checkCount(name: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0) throw bad(name, value, 'an integer >= 0')
}

/** Error: `ROUTER_BAD_REQUEST`. */
export function checkFraction(value: number | undefined): void {
  if (value !== undefined && !(value >= 0 && value <= 1))
    throw bad('decayFraction', value, 'a number from 0 to 1')
}

/** A value that no rank, request or clock can have. */
export function bad(name: string, value: unknown, accepted: string): RouterError {
  const message = `${name} must be ${accepted}, got ${String(value)}`
  return new RouterError('ROUTER_BAD_REQUEST', message, { [name]: value })
}

/** A request that is not booked (any more). */
export function unknownRequest(requestId: string): RouterError {
  return new RouterError('ROUTER_NOT_FOUND', `no live booking has the request id '${requestId}'`, {
    requestId,
  })
}

/** A slot that stands for no rank. */
export function unknownRank(slot: number): RouterError {
  return new RouterError('ROUTER_NOT_FOUND', `slot ${slot} names no rank of the worker table`, { slot })
}
