import fc from 'fast-check'
import { describe, it } from 'vitest'
import { fleetCommands } from './support/fleet-commands.js'
import { FleetModel } from './support/fleet-model.js'

describe('a worker table with several selectors equals a fleet of plain objects', () => {
  it.each([
    ['WebAssembly', true],
    ['plain', false],
  ])('in all that policies, results and explain show, over random histories, %s', (_name, webAssembly) => {
    fc.assert(
      fc.property(fleetCommands, (commands) => new FleetModel(webAssembly).run(commands)),
      { seed: 20_261, numRuns: 100 },
    )
  })
})
