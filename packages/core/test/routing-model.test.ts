import fc from 'fast-check'
import { describe, it } from 'vitest'
import type { RouterCoreConfig } from '../src/index.js'
import { routingCommands } from './support/routing-commands.js'
import { RoutingModel } from './support/routing-model.js'

const configs: [string, RouterCoreConfig][] = [
  ['by default', {}],
  ['with predictions and output blocks', { predictedTtlMs: 150, tracksOutputBlocks: true }],
]

describe('a router equals slow ones of sets and lists', () => {
  it.each(
    configs.flatMap(([name, config]) =>
      [true, false].map((webAssembly) => [name, webAssembly, config] as const),
    ),
  )(
    'I1, S6: in columns, costs, choices and outcomes, with a clean audit and queries without a trace, after each step of random histories: %s, WebAssembly %s',
    (_name, webAssembly, config) => {
      fc.assert(
        fc.property(routingCommands, (commands) => new RoutingModel(config, webAssembly).run(commands)),
        { seed: 4_711, numRuns: 100 },
      )
    },
  )
})
