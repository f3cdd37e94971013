import { readFileSync, readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { parseJson } from '../json.js'

/** A file to evaluate, as it was found. */
export interface FoundFile {
  readonly path: string
  /** Base name without `.gz`, `.jsonl` and `.json`. */
  readonly baseName: string
}

const vectorExtension = /\.jsonl?(?:\.gz)?$/

/**
 * The file itself, or every `.jsonl` and `.json` (also `.gz`) of a folder and the folders in it, sorted by path. Empty when the
 * path does not exist or the folder holds none.
 */
export function findFiles(path: string): FoundFile[] {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return []
  if (!stats.isDirectory()) return [{ path, baseName: baseNameOf(path) }]
  return readdirSync(path, { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('.') && name !== 'node_modules')
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) =>
      entry.isDirectory() || vectorExtension.test(entry.name) ? findFiles(join(path, entry.name)) : [],
    )
}

function baseNameOf(path: string): string {
  return basename(path)
    .replace(/\.gz$/, '')
    .replace(/\.jsonl?$/, '')
}

/** What a file holds: lines with their 1-based number, or one JSON document. */
export type FileContent =
  | { readonly kind: 'lines'; readonly lines: readonly ParsedLine[] }
  | { readonly kind: 'document'; readonly document: Readonly<Record<string, unknown>> }

/** A line and what it says, or why it says nothing. */
export interface ParsedLine {
  readonly number: number
  readonly value?: Readonly<Record<string, unknown>>
  readonly fault?: string
}

/** Reads a file, decompressing it when it is gzipped. Throws when it cannot be read, decompressed or decoded. */
export function readContent(path: string): FileContent {
  const bytes = readFileSync(path)
  const isGzipped = path.endsWith('.gz') || (bytes[0] === 0x1f && bytes[1] === 0x8b)
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
    isGzipped ? gunzipSync(bytes) : bytes,
  )
  const document = /\.json(?:\.gz)?$/.test(path) || startsDocument(text) ? documentOf(text) : undefined
  if (document !== undefined) return { kind: 'document', document }
  const rows = text.split('\n')
  if (rows.at(-1) === '') rows.pop()
  return { kind: 'lines', lines: rows.map((row, index) => parseLine(row, index + 1)) }
}

/** A document that is spread over several lines. */
function startsDocument(text: string): boolean {
  return /^\s*\{\s*\n/.test(text)
}

function documentOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = parseJson(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function parseLine(text: string, number: number): ParsedLine {
  if (text.trim() === '') return { number, fault: 'not JSON: the line is blank' }
  try {
    const value = parseJson(text)
    return isObject(value) ? { number, value } : { number, fault: 'unknown shape: a line is a JSON object' }
  } catch (error) {
    return { number, fault: `not JSON: ${(error as Error).message}` }
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
