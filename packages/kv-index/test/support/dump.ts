import { type BlockIndex, type DumpEvent, type StoreOutcome, highOf, lowOf } from '../../src/index.js'

/** Stores one chain of a dump. */
export function applyEntry(index: BlockIndex, entry: DumpEvent): StoreOutcome {
  const { rank, tier, hasParent, parent, engine, local } = entry
  return index.store(rank, tier, {
    hasParent,
    parentLow: lowOf(parent),
    parentHigh: highOf(parent),
    engine,
    local,
    start: 0,
    count: engine.length >> 1,
  })
}
