import fc from 'fast-check'
import type { BlockIndex } from '../../src/index.js'
import { commands, crowdCommands, longCommands } from './commands.js'
import { NaiveIndex } from './naive-index.js'

const kinds = { usual: commands, crowd: crowdCommands, long: longCommands }

/** How many runs, and of how many commands each at most. */
export interface ModelRunOptions {
  readonly runs: number
  readonly commands: number
  /** `long`: paths of thousands of blocks; `crowd`: many ranks that store the same. */
  readonly kind?: keyof typeof kinds
  /** Stop at the first failure instead of looking for a smaller one. Default false. */
  readonly endOnFailure?: boolean
}

/** Gives an index and the naive one the same random commands; throws where they answer differently. The seed is fixed. */
export function modelRun(create: () => BlockIndex, options: ModelRunOptions): void {
  const drawn = fc.commands(kinds[options.kind ?? 'usual'], {
    maxCommands: options.commands,
    size: 'max',
  })
  fc.assert(
    fc.property(drawn, (sequence) => {
      fc.modelRun(() => ({ model: new NaiveIndex({ blockSize: 16 }), real: create() }), sequence)
    }),
    {
      seed: 20_240_817,
      numRuns: options.runs,
      endOnFailure: options.endOnFailure ?? false,
      includeErrorInReport: true,
    },
  )
}
