import type { ResultRatio, ResultRow } from './results.js'

/** A figure to reach and what came out. Printed, never asserted: the machine decides. */
export interface ReachedFigure {
  readonly what: string
  readonly workers: number
  /** At most; `null` = it follows from a measurement that was not made. */
  readonly limit: number | null
  readonly unit: 'us' | 'x' | 'bytes'
  /** `null` = not measured in this run. */
  readonly reached: number | null
  readonly isReached: boolean
}

interface Times {
  readonly what: string
  readonly variant: string
  readonly temperature: number
  /** Microseconds by workers. */
  readonly limits: Readonly<Record<number, number>>
}

const times: readonly Times[] = [
  {
    what: 'default policy, tracked, T 0',
    variant: 'policy',
    temperature: 0,
    limits: { 64: 0.5, 1024: 4, 4096: 15 },
  },
  {
    what: 'default policy, tracked, T 0.7',
    variant: 'policy',
    temperature: 0.7,
    limits: { 64: 1.6, 1024: 23, 4096: 90 },
  },
  {
    what: 'without WebAssembly, T 0',
    variant: 'policy-js',
    temperature: 0,
    limits: { 64: 0.8, 1024: 11, 4096: 42 },
  },
]

interface Factor {
  readonly what: string
  readonly variant: string
  readonly limit: number
}

const factors: readonly Factor[] = [
  { what: 'decay 0.6 against none', variant: 'policy-decay', limit: 2 },
  { what: 'one overloaded worker against none', variant: 'holes/one-overloaded', limit: 1.5 },
]

const sizes = [64, 1024, 4096]
// A count of bytes over thousands of calls is no integer; a twentieth of a byte a call is nothing.
const countingNoise = 0.05

const bytes = [
  { what: 'bytes a warm selection, T 0', variant: 'policy', temperature: 0, limit: 0 },
  { what: 'bytes a warm selection, T 0.7', variant: 'policy', temperature: 0.7, limit: 16 },
  { what: 'bytes a warm selection without WebAssembly, T 0', variant: 'policy-js', temperature: 0, limit: 0 },
  {
    what: 'bytes a warm selection without WebAssembly, T 0.7',
    variant: 'policy-js',
    temperature: 0.7,
    limit: 16,
  },
] as const

/** Every figure to reach, with what the rows and ratios say. */
export function reachedFigures(rows: readonly ResultRow[], ratios: readonly ResultRatio[]): ReachedFigure[] {
  const rowOf = (variant: string, temperature: number, workers: number): ResultRow | undefined =>
    rows.find((row) => row.variant === variant && row.temperature === temperature && row.workers === workers)
  const ratioOf = (variant: string, workers: number): ResultRatio | undefined =>
    ratios.find((ratio) => ratio.variant === variant && ratio.temperature === 0 && ratio.workers === workers)
  return [
    ...times.flatMap(({ what, variant, temperature, limits }) =>
      sizes.map((workers) => {
        const row = rowOf(variant, temperature, workers)
        return figure(what, workers, limits[workers]!, 'us', row === undefined ? null : row.p50Ns / 1000)
      }),
    ),
    ...factors.flatMap(({ what, variant, limit }) =>
      sizes.map((workers) => figure(what, workers, limit, 'x', ratioOf(variant, workers)?.ratio ?? null)),
    ),
    ...bytes.flatMap(({ what, variant, temperature, limit }) =>
      sizes.map((workers) => {
        const reached = rowOf(variant, temperature, workers)?.bytesPerSelection ?? null
        return figure(what, workers, limit, 'bytes', reached, countingNoise)
      }),
    ),
    ...sizes.map((workers) => contractFigure(workers, ratioOf)),
  ]
}

/** Capacity and prefix hashes cost nothing when b / a, over all rounds, is no larger than what a quarter of the rounds see of a / a. */
function contractFigure(
  workers: number,
  ratioOf: (variant: string, workers: number) => ResultRatio | undefined,
): ReachedFigure {
  const same = ratioOf('contract/a-again', workers)
  const other = ratioOf('contract/b', workers)
  const limit = same === undefined ? null : Math.max(same.upperQuartile, 1 / same.lowerQuartile)
  return figure(
    'capacity and prefix hashes in the contract, against the A/A noise',
    workers,
    limit,
    'x',
    other?.ratio ?? null,
  )
}

function figure(
  what: string,
  workers: number,
  limit: number | null,
  unit: ReachedFigure['unit'],
  reached: number | null,
  tolerance = 0,
): ReachedFigure {
  const isReached = reached !== null && limit !== null && reached <= limit + tolerance
  return { what, workers, limit, unit, reached, isReached }
}
