import {
  type BlockIndex,
  DEVICE,
  HOST_PINNED,
  type HashWords,
  OverlapRows,
  type OverlapTarget,
} from '@router/kv-index'
import type { FigureRow, Reach, Timed } from '../harness/figure.js'
import { type Blocks, blocksFrom, emptyRun, pointRun, shuffled, storeOrThrow } from './blocks.js'
import { createIndex } from './subject.js'

const promptBlocks = 128
const hotPrompts = 16
/** With the blocks of each, a million. */
const coldPrompts = 8192
/** Bounds the set-up: so many pairs of prompt and holder, of prompts that are looked up in a large index. */
const mostStores = 1 << 17
const fewestRanks = 64
/** Numbers of blocks from here on are those of branches. */
const firstBranch = 2 ** 31
const group = 'lookup of 128 blocks'
const whyNot =
  'compare with the bare loop above, which knows no index: it says how fast this machine is at the time'

/** What the holders of a prompt hold of it. */
interface Holding {
  readonly holders: number
  /** Branches leave the prompt so that it consists of this many runs; a divisor of its blocks. Default 1. */
  readonly runs?: number
  /** Blocks on the device that the n-th holder has. Default all. */
  readonly deviceBlocks?: (holder: number) => number
  /** Blocks after those of the device that every holder has in host memory. Default 0. */
  readonly hostBlocks?: number
}

/** Prompts in an index; a power of two of them. */
interface Scene {
  readonly index: BlockIndex
  readonly prompts: readonly HashWords[]
  readonly target: OverlapTarget
}

function storePrompt(index: BlockIndex, blocks: Blocks, seed: number, ranks: number, holding: Holding): void {
  const { holders, runs = 1, deviceBlocks = () => promptBlocks, hostBlocks = 0 } = holding
  const run = emptyRun(blocks)
  for (let holder = 0; holder < holders; holder++) {
    const rank = (seed + holder) % ranks
    const onDevice = deviceBlocks(holder)
    storeOrThrow(index, rank, DEVICE, pointRun(run, 0, onDevice, -1))
    if (hostBlocks > 0)
      storeOrThrow(index, rank, HOST_PINNED, pointRun(run, onDevice, hostBlocks, onDevice - 1))
  }
  const branch = emptyRun(blocksFrom(firstBranch + seed * promptBlocks, runs))
  for (let start = 1; start < runs; start++) {
    const parent = start * (promptBlocks / runs) - 1
    for (let holder = 0; holder < holders; holder++) {
      pointRun(branch, start, 1, -1)
      branch.hasParent = true
      branch.parentLow = blocks.engine[2 * parent]!
      branch.parentHigh = blocks.engine[2 * parent + 1]!
      storeOrThrow(index, (seed + holder) % ranks, DEVICE, branch)
    }
  }
}

function createScene(holding: Holding, isCold: boolean): Scene {
  const index = createIndex()
  const ranks = Math.max(fewestRanks, holding.holders)
  const lookedUp = isCold ? Math.min(coldPrompts, mostStores / holding.holders) : hotPrompts
  const all = isCold ? coldPrompts : hotPrompts
  const prompts: HashWords[] = []
  for (let prompt = 0; prompt < all; prompt++) {
    const blocks = blocksFrom(prompt * promptBlocks, promptBlocks)
    const isLookedUp = prompt < lookedUp
    storePrompt(index, blocks, prompt, ranks, isLookedUp ? holding : { holders: 1 })
    if (isLookedUp) prompts.push(blocks.local)
  }
  const scene = { index, prompts, target: new OverlapRows(ranks) }
  for (let prompt = 0; prompt < lookedUp; prompt++) expectAnswer(scene, prompt, ranks, holding)
  return scene
}

function expectAnswer(
  { index, prompts, target }: Scene,
  prompt: number,
  ranks: number,
  holding: Holding,
): void {
  const { holders, deviceBlocks = () => promptBlocks, hostBlocks = 0 } = holding
  index.lookup(prompts[prompt]!, promptBlocks, target)
  if (target.count !== holders)
    throw new Error(`a lookup found ${target.count} holders instead of ${holders}`)
  for (let holder = 0; holder < holders; holder++) {
    const row = (prompt + holder) % ranks
    const device = target.deviceBlocks[row]
    const host = target.hostBlocks[row]
    if (device === deviceBlocks(holder) && host === hostBlocks) continue
    throw new Error(`a lookup found ${device} device and ${host} host blocks on the holder ${holder}`)
  }
}

/** In an order that is not that of the stores. */
function timeLookups({ index, prompts, target }: Scene): Timed {
  const ordered = Array.from(shuffled(prompts.length), (prompt) => prompts[prompt]!)
  const mask = ordered.length - 1
  let turn = 0
  const body = (): number => {
    turn = (turn + 1) & mask
    index.lookup(ordered[turn]!, promptBlocks, target)
    return target.count
  }
  return { body, perCall: 1 }
}

/** What no lookup by comparison can do without: 128 hashes against 128 others, two words each, in a bare loop. */
function timeBareLoop(): Timed {
  const prompts = Array.from({ length: hotPrompts }, (_, seed) =>
    blocksFrom(seed * promptBlocks, promptBlocks),
  )
  const copies = prompts.map(({ local }) => Int32Array.from(local))
  let turn = 0
  const body = (): number => {
    turn = (turn + 1) % hotPrompts
    const { local } = prompts[turn]!
    const words = copies[turn]!
    let at = 0
    while (at < 2 * promptBlocks && words[at] === (local[at]! | 0) && words[at + 1] === (local[at + 1]! | 0))
      at += 2
    return at
  }
  if (body() !== 2 * promptBlocks) throw new Error('the bare loop found a difference')
  return { body, perCall: 1 }
}

/** A few prompts in turns, alone in the index, which the reach is meant for; and prompts at random in an index of a million blocks. */
function hotAndCold(
  name: string,
  unit: 'ns' | 'us',
  reach: Reach | undefined,
  scene: (isCold: boolean) => Scene,
): FigureRow[] {
  return [false, true].map((isCold) => ({
    group,
    name: `${name}, ${isCold ? 'cold' : 'hot'}`,
    unit,
    ...(reach === undefined || isCold ? {} : { reach, whyNot }),
    countsBytes: true,
    setup: () => timeLookups(scene(isCold)),
  }))
}

function held(name: string, unit: 'ns' | 'us', atMost: number | undefined, holding: Holding): FigureRow[] {
  const reach = atMost === undefined ? undefined : { atMost }
  return hotAndCold(name, unit, reach, (isCold) => createScene(holding, isCold))
}

/** Looks up prompts of which the first `known` blocks are held by one rank and the rest by nobody. */
function createDivergingScene(isCold: boolean, known: number): Scene {
  const scene = createScene({ holders: 1 }, isCold)
  const prompts = scene.prompts.map((prompt, seed) => {
    const { local } = blocksFrom((coldPrompts + seed) * promptBlocks, promptBlocks)
    local.set(prompt.subarray(0, 2 * known))
    return local
  })
  for (const prompt of prompts) {
    scene.index.lookup(prompt, promptBlocks, scene.target)
    const { count, rows, deviceBlocks } = scene.target
    const found = count === 0 ? 0 : deviceBlocks[rows[0]!]
    if (found !== known) throw new Error(`a lookup found ${found} blocks instead of ${known}`)
  }
  return { ...scene, prompts }
}

export const lookupRows: readonly FigureRow[] = [
  { group, name: 'a bare loop over 128 hashes', unit: 'ns', setup: timeBareLoop },
  ...held('1 holder, 1 run', 'ns', 220, { holders: 1 }),
  ...held('1 holder, 16 runs', 'ns', 400, { holders: 1, runs: 16 }),
  ...held('8 holders, 1 run', 'ns', 300, { holders: 8 }),
  ...held('8 holders, 16 runs', 'ns', 450, { holders: 8, runs: 16 }),
  ...held('256 holders, 1 run', 'us', 1.5, { holders: 256 }),
  ...held('256 holders, 16 depths', 'us', undefined, {
    holders: 256,
    deviceBlocks: (holder) => 8 * ((holder % 16) + 1),
  }),
  ...held('1,024 holders, 1 run', 'us', 5, { holders: 1024 }),
  ...held('256 holders, 64 device and 64 host blocks', 'us', 5, {
    holders: 256,
    deviceBlocks: () => 64,
    hostBlocks: 64,
  }),
  ...hotAndCold('early miss', 'ns', { atMost: 15 }, (isCold) => createDivergingScene(isCold, 0)),
  ...hotAndCold('64 blocks held, then a miss', 'ns', undefined, (isCold) => createDivergingScene(isCold, 64)),
]
