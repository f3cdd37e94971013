import type { BlockIndex } from '../../src/index.js'
import { NaiveIndex } from './naive-index.js'

/** An index under test. */
export type Subject = readonly [name: string, create: () => BlockIndex]

export const naive: Subject = ['naive', () => new NaiveIndex({ blockSize: 16 })]

export const subjects: readonly Subject[] = [naive]
