import { afterEach } from 'vitest'
import type { ServedEngineOptions } from '../../../src/engine/engine-options.js'
import { createServedEngine } from '../../../src/engine/served-engine.js'
import type {
  GenerationEnd,
  GenerationRequest,
  ServedEngine,
  ServedModel,
} from '../../../src/engine/serving.js'

const open: ServedEngine[] = []
afterEach(async () => {
  for (const engine of open.splice(0)) await engine.close()
})

/** A model that no test of the engine asks for anything. */
export const noModel: ServedModel = {
  encode: () => new Uint32Array(),
  decode: () => '',
  render: () => '',
  vocabularySize: 0,
  longestToken: 1,
  imageToken: undefined,
}

/** An engine with blocks of four tokens, closed after the test. */
export async function served(options: Partial<ServedEngineOptions> = {}): Promise<ServedEngine> {
  const engine = await createServedEngine({
    model: noModel,
    blockSize: 4,
    blocksPerRank: 64,
    speedup: 1000,
    ...options,
  })
  open.push(engine)
  return engine
}

/** `count` tokens that differ for each `first`. */
export const tokens = (count: number, first = 0): Uint32Array =>
  Uint32Array.from({ length: count }, (_, at) => first * 1000 + at)

/** What a client of one generation heard. */
export interface Heard {
  readonly log: string[]
  readonly cachedTokens: number
  readonly end: GenerationEnd
  readonly message: string | undefined
}

/** Runs one generation to its end. `onStart` gets what `generate` gave. */
export function run(
  engine: ServedEngine,
  request: Partial<GenerationRequest>,
  onStart: (generation: ReturnType<ServedEngine['generate']>, log: readonly string[]) => void = () => {},
): Promise<Heard> {
  return new Promise((resolve) => {
    const log: string[] = []
    let cachedTokens = -1
    const generation = engine.generate({
      promptTokens: tokens(10),
      outputTokens: tokens(3, 500),
      endsBy: 'stop',
      ...request,
      onAdmitted: (cached) => {
        cachedTokens = cached
        log.push('admitted')
        request.onAdmitted?.(cached)
      },
      onToken: (index) => {
        log.push(`${index}`)
        request.onToken?.(index)
      },
      onEnd: (end, message) => {
        log.push(end)
        request.onEnd?.(end, message)
        // A later call would be heard, too.
        setImmediate(() => resolve({ log, cachedTokens, end, message }))
      },
    })
    onStart(generation, log)
  })
}
