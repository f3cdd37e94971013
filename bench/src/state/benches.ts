import type { FigureRow } from '../harness/figure.js'

/** A bench over state: a command and its rows. */
export interface StateBench {
  readonly name: string
  /** For `--help`. */
  readonly description: string
  /** Loaded when the bench runs, so that no bench pays for the imports of another. */
  readonly rows: () => Promise<readonly FigureRow[]>
}

export const stateBenches: readonly StateBench[] = [
  {
    name: 'index',
    description: 'what the prefix index costs: lookups, ingest, a trace, pauses, memory, hashing',
    rows: async () => (await import('../index/rows.js')).indexRows,
  },
  {
    name: 'events',
    description: 'what engine events cost, from bytes to index',
    rows: async () => (await import('../events/rows.js')).eventsRows,
  },
  {
    name: 'accounting',
    description: 'what load accounting costs: a life of a request, load columns',
    rows: async () => (await import('../accounting/rows.js')).accountingRows,
  },
  {
    name: 'core',
    description: 'what a whole decision costs, from token ids to the booking and its release',
    rows: async () => (await import('../core/rows.js')).coreRows,
  },
  {
    name: 'engine',
    description: 'what the simulated engine costs: passes, whole runs',
    rows: async () => (await import('../engine/rows.js')).engineRows,
  },
  {
    name: 'prompt',
    description:
      'what a prompt costs, from the bytes of a request to block hashes: tokenizer, bodies, threads',
    rows: async () => (await import('../prompt/rows.js')).promptRows,
  },
  {
    name: 'proxy',
    description:
      'what the router adds to a request, beside a bare pass-through; what a selection over HTTP costs',
    rows: async () => (await import('../proxy/rows.js')).proxyRows,
  },
]
