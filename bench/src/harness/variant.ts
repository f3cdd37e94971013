/** One timed body: a whole selection. Returns a small integer that depends on it, so that nothing is optimised away. */
export type Body = () => number

/** One row of a table. */
export interface Variant {
  /** Unique together with workers, ranks and temperature. */
  readonly name: string
  readonly temperature: number
  /** Builds the fleet and everything around it; called in the process that measures. */
  readonly prepare: () => Body
}

/** `of` divided by `to`, both variants of one contest. */
export interface Comparison {
  readonly of: VariantName
  readonly to: VariantName
}

/** Names a variant within its contest. */
export type VariantName = Pick<Variant, 'name' | 'temperature'>

/** Variants that are compared with each other, so measured in turns. */
export interface Contest {
  readonly group: string
  readonly workers: number
  /** Ranks of each worker. */
  readonly ranks: number
  readonly variants: readonly Variant[]
  readonly comparisons: readonly Comparison[]
  /** How many times the usual rounds it takes to tell its variants apart. Default 1. */
  readonly roundsFactor?: number
}

export function isSame(a: VariantName, b: VariantName): boolean {
  return a.name === b.name && a.temperature === b.temperature
}
