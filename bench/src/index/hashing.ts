import { BlockHasher, BlockHashes, hashAt } from '@router/kv-index'
import type { FigureRow, Timed } from '../harness/figure.js'

const group = 'hashing'
const promptTokens = 32_768
const blockSize = 16
/** Chained hash of the last block of the prompt below. */
const lastHash = 6_732_309_333_397_630_926n

function promptOf(count: number): Uint32Array {
  return Uint32Array.from({ length: count }, (_, index) => Math.imul(2_654_435_761, index))
}

/** The whole prompt, chained; checked once. */
function longPrompt(webAssembly: boolean): Timed {
  const hasher = new BlockHasher({ webAssembly })
  if (hasher.usesWebAssembly !== webAssembly) throw new Error('no WebAssembly here')
  const hashes = new BlockHashes()
  const tokens = promptOf(promptTokens)
  const options = { blockSize }
  hasher.hash(tokens, options, hashes)
  const last = hashAt(hashes.sequence, hashes.count - 1)
  if (last !== lastHash) throw new Error(`hash ${last} of the last block, expected ${lastHash}`)
  return {
    perCall: 1,
    body: () => {
      hasher.hash(tokens, options, hashes)
      return hashes.sequence[2 * hashes.count - 1]! & 0xff
    },
  }
}

/** A turn of a conversation: 64 blocks more, behind those of before. */
function grownPrompt(): Timed {
  const hasher = new BlockHasher()
  const hashes = new BlockHashes()
  const options = { blockSize }
  const turn = promptOf(64 * blockSize)
  hasher.hash(promptOf(promptTokens), options, hashes)
  const before = hashes.count
  return {
    perCall: 1,
    body: () => {
      hashes.count = before
      hasher.extend(turn, options, hashes)
      return hashes.sequence[2 * hashes.count - 1]! & 0xff
    },
  }
}

/** One block of an event. */
function oneBlock(): Timed {
  const hasher = new BlockHasher()
  const options = { blockSize }
  const tokens = promptOf(blockSize)
  const out = new Uint32Array(2)
  return {
    perCall: 1,
    body: () => {
      hasher.hashBlock(tokens, 0, options, out, 0)
      return out[0]! & 0xff
    },
  }
}

/** Rows about local and sequence hashes. */
export const hashingRows: readonly FigureRow[] = [
  {
    group,
    name: '32,768 tokens of 16-token blocks, chained',
    unit: 'us',
    reach: { atMost: 30 },
    countsBytes: true,
    setup: () => longPrompt(true),
  },
  { group, name: 'the same without WebAssembly', unit: 'us', setup: () => longPrompt(false) },
  { group, name: '64 blocks more of a known prompt', unit: 'us', countsBytes: true, setup: grownPrompt },
  { group, name: 'one block of an event', unit: 'ns', countsBytes: true, setup: oneBlock },
]
