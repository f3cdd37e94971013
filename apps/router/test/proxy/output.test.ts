import { expect, test } from 'vitest'
import { ask, engineOf, proxyOf } from './support/proxies.js'

test('output that is tracked is booked block by block, as its chunks come', async () => {
  const engine = await engineOf()
  const router = await proxyOf([engine], { fleet: { core: { tracksOutputBlocks: true } } })
  const prompt = Array.from({ length: 40 }, (_, id) => id)
  const body = { model: 'mock-model', prompt, max_tokens: 60, ignore_eos: true, stream: true }
  const { router: partition } = router.fleet.partitions[0]!
  const noteOutput = partition.noteOutput.bind(partition)
  const told: { readonly tokens: number; readonly blocks: number }[] = []
  partition.noteOutput = (requestId, tokens) => {
    const isBooked = noteOutput(requestId, tokens)
    told.push({ tokens, blocks: partition.ledger.loadOf(partition.slotOf(1n, 0)).activeBlocks })
    return isBooked
  }
  expect((await ask(router, '/v1/completions', body)).status).toBe(200)
  // Two whole blocks of the prompt, and blocks that begin with its 9th token of output, the 25th, the 41st, the 57th; chunks that come
  // together are told together.
  expect(told.length).toBeLessThanOrEqual(5)
  for (const { tokens, blocks } of told) expect(blocks).toBe(2 + Math.floor((tokens + 7) / 16))
  expect(told.at(-1)!.blocks).toBe(6)
  expect(router.finished).toMatchObject([{ contentChunks: 60 }])
})
