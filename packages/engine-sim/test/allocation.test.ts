import { expect, it } from 'vitest'
import { type PassSink, VllmEngine } from '../src/index.js'

declare const process: { readonly memoryUsage: () => { readonly heapUsed: number } }

const passes = 4000
// A busy machine is late to optimise; what allocates then still does in the last batch.
const batches = 60

it('warm, a pass allocates nothing but the two numbers that the clock gives and takes', () => {
  const engine = new VllmEngine({ num_gpu_blocks: 200, block_size: 16 })
  let told = 0
  const count = (): void => void told++
  const sink: PassSink = {
    admitted: count,
    preempted: count,
    stored: count,
    removed: count,
    token: count,
    ended: count,
  }
  const request = { promptTokens: 100, outputTokens: 100, blockKeys: new Uint32Array(12) }
  let sent = 0
  let nowMs = 0
  const step = (): void => {
    if (engine.runningRequests + engine.waitingRequests < 32) {
      request.blockKeys.fill(++sent)
      engine.submit(request)
    }
    nowMs = engine.startPass(nowMs)!.endMs
    engine.finishPass(sink)
  }
  for (let pass = 0; pass < 20_000; pass++) step()
  let least = Infinity
  for (let batch = 0; batch < batches && least > 80; batch++) {
    const before = process.memoryUsage().heapUsed
    for (let pass = 0; pass < passes; pass++) step()
    const growth = process.memoryUsage().heapUsed - before
    if (growth >= 0) least = Math.min(least, growth / passes)
  }
  expect(told).toBeGreaterThan(20 * passes)
  expect(engine.preemptions).toBeGreaterThan(0)
  // An object a token, or a list a pass, would be hundreds.
  expect(least).toBeLessThan(100)
})
