import { startMockEngine } from 'router-mock-engine'
import { Client } from './client.js'

/** Asked before anything is measured, and then measured. */
const requests = { warmUp: 50, measured: 150 }
/** How many times faster it may go where a small request takes a millisecond. */
const speedupByMs = 40
const bounds = { least: 5, most: 22 }

/**
 * How many times faster than real engines and people the demo may go on this machine, as busy as it is now. Where requests wait for the
 * machine, engines seem loaded that would be idle, and policies go by that.
 */
export async function fittingSpeedup(): Promise<number> {
  const engine = await startMockEngine({ speedup: 1000 })
  const client = new Client(engine.url)
  const ask = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++)
      await client.ask('/v1/completions', { model: engine.model, prompt: `request ${index}`, max_tokens: 16 })
  }
  try {
    await ask(requests.warmUp)
    const startedMs = performance.now()
    await ask(requests.measured)
    const requestMs = (performance.now() - startedMs) / requests.measured
    return Math.max(bounds.least, Math.min(bounds.most, Math.round(speedupByMs / requestMs)))
  } finally {
    client.close()
    await engine.close()
  }
}
