// A router inside a program: three workers, conversations of several turns, and why each turn goes where it goes.
// `npm run embedded` runs it. No network, no clock of its own, no randomness of its own: every run prints the same.
import process from 'node:process'
import { type RouterCore, copyResult, createRouterCore } from '@router/core'
import { BlockHasher, BlockHashes } from '@router/kv-index'
import { defaultPolicy } from '@router/policy-default'
import { PolicyCatalog } from '@router/sdk'

const blockSize = 16
const turns = 3
const chats = ['weather', 'recipes', 'taxes', 'travel']

/** The conversations, round by round; returns one line a turn. */
export function main(print: (line: string) => void = console.log): RouterCore {
  const clock = { ms: 0 }
  let seed = 1n
  const policy = new PolicyCatalog().withDefault(defaultPolicy).resolve({})
  const core = createRouterCore({
    policy,
    clock: () => clock.ms,
    random: () => seed++,
    config: { blockSize },
  })
  const router = core.router({ model: 'llama', role: 'aggregated' })

  // Two engines tell what they cache; of the third one the router believes what its own decisions suggest.
  for (const workerId of [1n, 2n]) router.upsertWorker({ workerId, hasEvents: true, totalKvBlocks: 4096 })
  router.upsertWorker({ workerId: 3n, totalKvBlocks: 4096 })
  for (const workerId of [1n, 2n]) router.cleared(workerId, 0)

  const hasher = new BlockHasher()
  const blocks = new BlockHashes()
  const prompts = chats.map((_, chat) => Array.from({ length: 200 }, (_word, at) => 1000 * (chat + 1) + at))
  for (let turn = 1; turn <= turns; turn++) {
    for (const [chat, name] of chats.entries()) {
      const tokens = Uint32Array.from(prompts[chat]!)
      const { rows } = router.explain({ tokens })
      const result = copyResult(router.reserve({ tokens, requestId: `${name}-${turn}` }))
      const costs = rows.map(({ workerId, total }) => `${workerId}: ${total?.toFixed(1)}`).join(', ')
      const cached = `${result.cachedTokens} of ${tokens.length} tokens cached`
      print(`${name}, turn ${turn} -> worker ${result.workerId} (${cached}; costs ${costs})`)

      // What the engine does next: it fills its cache, and says so if it can.
      hasher.hash(tokens, { blockSize }, blocks)
      const { sequence: engine, local, count } = blocks
      const run = { hasParent: false, parentLow: 0, parentHigh: 0, engine, local, start: 0, count }
      if (result.workerId !== 3n) router.stored(result.workerId, result.dpRank, run)
      router.markPrefillCompleted(`${name}-${turn}`)
      prompts[chat]!.push(...Array.from({ length: 150 }, (_word, at) => 500_000 * turn + 1000 * chat + at))
      clock.ms += 250
    }
    // The answers of this round are complete.
    for (const name of chats) router.free(`${name}-${turn}`)
  }
  print(`in flight at the end: ${router.ledger.live}; faults in the books: ${router.ledger.audit().length}`)
  return core
}

if (/\bembedded\.m?[jt]s$/u.test(process.argv[1] ?? '')) main().dispose()
