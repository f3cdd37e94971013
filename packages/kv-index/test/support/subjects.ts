import type { BlockIndex } from '../../src/index.js'
import { NaiveIndex } from './naive-index.js'

/** An index under test. */
export type Subject = readonly [name: string, create: () => BlockIndex]

export const naive: Subject = ['naive', () => new NaiveIndex({ blockSize: 16 })]

/** Those that can be dumped. */
export const dumping: readonly (readonly [name: string, create: () => NaiveIndex])[] = [
  ['naive', () => new NaiveIndex({ blockSize: 16 })],
]

export const subjects: readonly Subject[] = [naive]
