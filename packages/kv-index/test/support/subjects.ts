import { type BlockIndex, PrefixIndex } from '../../src/index.js'
import { NaiveIndex } from './naive-index.js'
import type { AccountedIndex } from './soak.js'

/** An index under test. */
export type Subject = readonly [name: string, create: () => BlockIndex]

const options = { blockSize: 16 }

const naive: Subject = ['naive', () => new NaiveIndex(options)]
export const exact: Subject = ['exact', () => new PrefixIndex(options)]

/** The exact index and what it is held against, for tests that say themselves what is right. */
export const subjects: readonly Subject[] = [exact, naive]

/** The exact index with its gauges as one list of numbers. */
export function createAccounted(): AccountedIndex {
  return new Accounted(options)
}

class Accounted extends PrefixIndex implements AccountedIndex {
  gauges(): Record<string, number> {
    const { entries, ...others } = this.stats()
    return { ...others, ...entries }
  }
}
