import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseJson } from './json.js'
import type { ClassicLine } from './shapes/classic.js'
import type { DefaultCostLine } from './shapes/default-cost.js'
import type { KvCapacityAwareLine } from './shapes/kv-capacity-aware.js'
import type { MixRendezvousLine } from './shapes/mix-rendezvous.js'
import type { ParityCostsLine, ParityMatrixLine, ParitySequenceLine } from './shapes/parity.js'
import type { RngLine } from './shapes/rng.js'
import type { RustAccountingLine } from './shapes/rust-accounting.js'
import type { RustIndexLine } from './shapes/rust-index-lines.js'
import type { RustSelectionLine } from './shapes/rust-selection.js'
import type { SelectionLine } from './shapes/selection.js'
import type { SoftmaxLine } from './shapes/softmax.js'

/** Line types by file, for the files whose shape is typed; lines of every other file are `unknown`. */
export interface VectorLines {
  readonly rng: RngLine
  readonly 'mix-rendezvous': MixRendezvousLine
  readonly softmax: SoftmaxLine
  readonly selection: SelectionLine
  readonly 'default-cost': DefaultCostLine
  readonly 'kv-capacity-aware': KvCapacityAwareLine
  readonly classic: ClassicLine
  readonly 'parity-matrix-t0': ParityMatrixLine
  readonly 'parity-matrix-t0.7': ParityMatrixLine
  readonly 'parity-matrix-affinity-t0': ParityMatrixLine
  readonly 'parity-matrix-affinity-t0.7': ParityMatrixLine
  readonly 'parity-matrix-decode': ParityMatrixLine
  readonly 'parity-costs': ParityCostsLine
  readonly 'parity-sequences': ParitySequenceLine
  readonly 'rust-selection': RustSelectionLine
  readonly 'rust-accounting': RustAccountingLine
  readonly 'rust-index': RustIndexLine
}

/** Folder of the carried files. */
export const dataFolder: string = fileURLToPath(new URL('../data/', import.meta.url))

/** Names of the carried files with their extension, sorted; the data are `.jsonl` and `.json`. */
export function vectorFiles(): string[] {
  return readdirSync(dataFolder)
    .filter((name) => /\.jsonl?$/.test(name))
    .toSorted()
}

/** The lines of a carried `.jsonl` file, by its name without extension. Not checked against the shape: the runner does that. */
export function readVectors<N extends keyof VectorLines>(name: N): VectorLines[N][]
export function readVectors(name: string): unknown[]
export function readVectors(name: string): unknown[] {
  const text = readFileSync(`${dataFolder}${name}.jsonl`, 'utf8')
  return text.trimEnd().split('\n').map(parseJson)
}

/** A carried `.json` document, by its name without extension. */
export function readDocument(name: string): unknown {
  return parseJson(readFileSync(`${dataFolder}${name}.json`, 'utf8'))
}
