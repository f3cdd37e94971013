import type { PartStarts } from './part-process.js'

/** The parts of a rig by name, loaded when they are started: none pays for the imports of another. */
export const partStarts: PartStarts = {
  engines: async (options) => (await import('./instant-engine.js')).startInstantEngines(options),
  floor: async (options) => (await import('./pass-through.js')).startPassThrough(options),
  router: async (options) => (await import('./router-part.js')).startRouterPart(options),
}
