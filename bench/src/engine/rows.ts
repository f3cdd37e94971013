import { type EngineParameters, type PassSink, VllmEngine } from '@router/engine-sim'
import type { FigureRow, Timed } from '../harness/figure.js'

const passes = { unit: 'M passes/s' } as const

/** Rows of the `engine` bench, in the order they are printed. */
export const engineRows: readonly FigureRow[] = [
  {
    ...passes,
    group: 'passes of 64 running requests',
    name: 'decode',
    reach: { atLeast: 0.5 },
    countsBytes: true,
    setup: () => timePasses(64, {}),
  },
  {
    ...passes,
    group: 'passes of 64 running requests',
    name: 'decode, and a prompt of 1,024 tokens in every 8th pass',
    countsBytes: true,
    setup: () => timeTurnover({}),
  },
  {
    ...passes,
    group: 'passes of 64 running requests',
    name: 'the same with a pool that evicts for each prompt',
    setup: () => timeTurnover({ num_gpu_blocks: 2048 }),
  },
  {
    ...passes,
    group: 'passes of other batches',
    name: 'decode of 1',
    setup: () => timePasses(1, {}),
  },
  {
    ...passes,
    group: 'passes of other batches',
    name: 'decode of 256',
    setup: () => timePasses(256, {}),
  },
]

/** Counts what it is told. */
class Counter implements PassSink {
  told = 0
  admitted(): void {
    this.told++
  }
  preempted(): void {
    this.told++
  }
  stored(): void {
    this.told++
  }
  removed(): void {
    this.told++
  }
  token(): void {
    this.told++
  }
  ended(): void {
    this.told++
  }
}

const perCall = 256

/** Passes in which `running` requests all decode; as one ends, another like it comes. */
function timePasses(running: number, parameters: EngineParameters): Timed {
  return timeRun(running, 16, 8192, parameters)
}

/** Passes in which requests come and go: prompts of 1,024 tokens, half of them shared, 512 outputs. */
function timeTurnover(parameters: EngineParameters): Timed {
  return timeRun(64, 1024, 512, parameters)
}

function timeRun(
  running: number,
  promptTokens: number,
  outputTokens: number,
  parameters: EngineParameters,
): Timed {
  const engine = new VllmEngine(parameters)
  const counter = new Counter()
  const blocks = Math.floor(promptTokens / 64)
  const blockKeys = new Uint32Array(2 * blocks)
  let sent = 0
  const request = { promptTokens, outputTokens, blockKeys }
  const send = (): void => {
    for (let block = 0; block < blocks; block++) {
      blockKeys[2 * block] = block
      blockKeys[2 * block + 1] = block < blocks / 2 ? 0 : sent + 1
    }
    engine.submit(request)
    sent++
  }
  let nowMs = 0
  const step = (): void => {
    nowMs = engine.startPass(nowMs)!.endMs
    engine.finishPass(counter)
  }
  // One after another, so that they also fill their blocks and end so.
  const spacing = Math.max(1, Math.floor(outputTokens / running))
  for (let started = 0; started < running; started++) {
    send()
    for (let pass = 0; pass < spacing; pass++) step()
  }
  const body = (): number => {
    for (let pass = 0; pass < perCall; pass++) {
      if (engine.runningRequests + engine.waitingRequests < running) send()
      step()
    }
    const told = counter.told
    counter.told = 0
    return told
  }
  body()
  const told = body()
  if (told < running * perCall * 0.9 || engine.runningRequests > running)
    throw new Error(`expected passes of ${running} requests, got ${told / perCall} events a pass`)
  return { perCall, body }
}
