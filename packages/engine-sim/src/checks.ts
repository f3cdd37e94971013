import { EngineSimError } from './errors.js'

// Checks of parameters, which may come from a file. Each throws `ENGINE_SIM_PARAMETER_INVALID`, in words.

/** The most tokens of a prompt with its outputs. */
export const mostTokens = 1_073_741_824

/** Unlike `??` it leaves a null, for the checks to accept or refuse. */
export function orDefault<Value>(value: Value | undefined, fallback: Value): Value {
  return value === undefined ? fallback : value
}

/** A limit in tokens or requests; null = none. */
export function limit(name: string, value: number | null): number {
  return value === null ? Infinity : whole(name, value, 1, mostTokens)
}

/** A whole number in a range. */
export function whole(name: string, value: number, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most)
    refuse(name, value, `a whole number from ${least} to ${most}`)
  return value
}

/** A time in ms, or what divides one. */
export function duration(name: string, value: number): void {
  if (typeof value !== 'number' || !(value >= 0 && value < Infinity))
    refuse(name, value, 'a finite number >= 0')
}

/** True or false. */
export function flag(name: string, value: boolean): boolean {
  return typeof value === 'boolean' ? value : refuse(name, value, 'true or false')
}

/** One of some words. */
export function oneOf(name: string, value: unknown, accepted: readonly string[]): void {
  if (!accepted.includes(value as string)) refuse(name, value, accepted.join(', '))
}

/** Keys that mean nothing. */
export function refuseUnknown(prefix: string, given: object, known: readonly string[]): void {
  for (const key of Object.keys(given))
    if (!known.includes(key))
      throw new EngineSimError(
        'ENGINE_SIM_PARAMETER_INVALID',
        `unknown parameter ${prefix}${key}; known: ${known.join(', ')}`,
      )
}

/** Says what was expected. */
export function refuse(name: string, value: unknown, accepted: string): never {
  throw new EngineSimError(
    'ENGINE_SIM_PARAMETER_INVALID',
    `${name}: expected ${accepted}, got ${String(value)}`,
  )
}
