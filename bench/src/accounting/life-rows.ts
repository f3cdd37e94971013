import type { FigureRow, Timed } from '../harness/figure.js'
import { createSubject, fillHashes, promptOf } from './fleet.js'

const ranks = 1024
const ids = 1 << 16
const group = 'life of a request'

/** How many requests are live while others come and go, and what each brings. */
interface Life {
  readonly live: number
  readonly sharedBlocks: number
  readonly newBlocks: number
}

/** Requests one after another: each call books one, completes its prefill and frees the oldest. */
function livesOf({ live, sharedBlocks, newBlocks }: Life): Timed {
  const { ledger, table } = createSubject(ranks)
  const names = Array.from({ length: ids }, (_, id) => `chatcmpl-${id.toString(16).padStart(24, '0')}`)
  const slots = Int32Array.from({ length: ranks }, (_, row) => table.slotOfRow[row]!)
  const hashes = promptOf(sharedBlocks, 1 << 20, newBlocks)
  const booking = {
    requestId: '',
    slot: 0,
    hashes,
    hashCount: sharedBlocks + newBlocks,
    prefillTokens: 16 * newBlocks,
  }
  let next = 0
  const book = (): void => {
    // Another first new block makes all that follow it new.
    fillHashes(hashes, sharedBlocks, (1 << 20) + next, 1)
    booking.requestId = names[next & (ids - 1)]!
    booking.slot = slots[(next * 7) & (ranks - 1)]!
    ledger.add(booking)
    ledger.markPrefillCompleted(booking.requestId)
    next = (next + 1) | 0
  }
  for (let request = 0; request < live; request++) book()
  const blocks = ledger.loadOf(0).activeBlocks
  if (blocks !== (live / ranks) * newBlocks + (sharedBlocks === 0 ? 0 : sharedBlocks))
    throw new Error(`rank 0 has ${blocks} active blocks`)
  return {
    perCall: 1,
    body: () => {
      book()
      return ledger.free(names[(next - live - 1) & (ids - 1)]!) ? 1 : 0
    },
  }
}

/** What a request costs the books from admission to release. */
export const lifeRows: readonly FigureRow[] = [
  {
    group,
    name: 'book, complete, free; 16 new blocks',
    unit: 'M requests/s',
    reach: { atLeast: 1 },
    countsBytes: true,
    setup: () => livesOf({ live: 4096, sharedBlocks: 0, newBlocks: 16 }),
  },
  {
    group,
    name: 'the same behind a system prompt of 64 blocks that every rank holds',
    unit: 'M requests/s',
    countsBytes: true,
    setup: () => livesOf({ live: 4096, sharedBlocks: 64, newBlocks: 16 }),
  },
  {
    group,
    name: 'the same with 32,768 requests live',
    unit: 'M requests/s',
    countsBytes: true,
    setup: () => livesOf({ live: 32_768, sharedBlocks: 64, newBlocks: 16 }),
  },
  {
    group,
    name: 'the same with 128 new blocks',
    unit: 'M requests/s',
    setup: () => livesOf({ live: 4096, sharedBlocks: 0, newBlocks: 128 }),
  },
]
