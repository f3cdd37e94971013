import { isUtf8 } from 'node:buffer'
import { readFileSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { parseJson } from '../json.js'

/** A file to evaluate, as it was found. */
export interface FoundFile {
  readonly path: string
  /** Base name without `.gz`, `.jsonl` and `.json`. */
  readonly baseName: string
  /** The path without links; the path itself when it cannot be read. */
  readonly realPath: string
  /** Why it, or the folder of this path, cannot be read. */
  readonly fault?: string
}

const vectorExtension = /\.jsonl?(?:\.gz)?$/

/**
 * The file itself, or every `.jsonl` and `.json` (also `.gz`) of a folder and the folders in it, sorted by path. Empty when the
 * path does not exist or the folder holds none. Links to folders are followed only when given as `path`.
 */
export function findFiles(path: string): FoundFile[] {
  try {
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats === undefined) return []
    if (!stats.isDirectory()) return [foundFile(path, stats.isFile())]
    return readdirSync(path, { withFileTypes: true })
      .filter(({ name }) => !name.startsWith('.') && name !== 'node_modules')
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((entry) => {
        const inner = join(path, entry.name)
        if (entry.isDirectory()) return findFiles(inner)
        return vectorExtension.test(entry.name) ? [fileIn(inner)] : []
      })
  } catch (error) {
    return [unreadable(path, (error as Error).message)]
  }
}

/** An entry of a folder that is no folder itself: a link may lead nowhere, in a circle or to a folder. */
function fileIn(path: string): FoundFile {
  try {
    return foundFile(path, statSync(path).isFile())
  } catch (error) {
    return unreadable(path, (error as Error).message)
  }
}

function foundFile(path: string, isFile: boolean): FoundFile {
  if (!isFile) return unreadable(path, 'not a file')
  return { path, baseName: baseNameOf(path), realPath: realpathSync(path) }
}

function unreadable(path: string, reason: string): FoundFile {
  return { path, baseName: baseNameOf(path), realPath: path, fault: `cannot be read: ${reason}` }
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

/** The file is read, and is no JSON object; the message is the whole fault. */
export class ContentError extends Error {
  override readonly name = 'ContentError'
}

// Far beyond any case, and read in a second.
const longestText = 16_777_216

/**
 * Reads a file, decompressing it when it is gzipped. Throws when it cannot be read, decompressed or decoded, and on a `.json` file
 * that is not one JSON object.
 */
export function readContent(path: string): FileContent {
  const text = textOf(path)
  if (text.trim() !== '' && /\.json(?:\.gz)?$/.test(path)) return documentOf(text)
  if (startsDocument(text)) {
    const { value, fault } = parseText(text, 1, 'document')
    if (value !== undefined) return { kind: 'document', document: value }
    if (!/\.jsonl(?:\.gz)?$/.test(path)) throw new ContentError(fault!)
  }
  const rows = text.split('\n')
  if (rows.at(-1) === '') rows.pop()
  return { kind: 'lines', lines: rows.map((row, index) => parseText(row, index + 1, 'line')) }
}

function textOf(path: string): string {
  const bytes = readFileSync(path)
  const isGzipped = path.endsWith('.gz') || (bytes[0] === 0x1f && bytes[1] === 0x8b)
  const text = decode(isGzipped ? gunzipSync(bytes) : bytes)
  if (text.startsWith('\uFEFF')) throw new Error('it starts with a byte order mark')
  return text
}

function decode(bytes: Uint8Array): string {
  // UTF-16 of plain letters also is UTF-8, with a NUL beside every letter.
  if (!isUtf8(bytes) || bytes.includes(0)) throw new Error('not UTF-8 text')
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}

/** A document that is spread over several lines. */
function startsDocument(text: string): boolean {
  return /^\s*\{\s*\n/.test(text)
}

function documentOf(text: string): FileContent {
  const { value, fault } = parseText(text, 1, 'document')
  if (value === undefined) throw new ContentError(fault!)
  return { kind: 'document', document: value }
}

function parseText(text: string, number: number, unit: 'line' | 'document'): ParsedLine {
  if (text.trim() === '') return { number, fault: `not JSON: the ${unit} is blank` }
  if (text.length > longestText) {
    return {
      number,
      fault: `the ${unit} is too long: expected at most ${longestText} characters, got ${text.length}`,
    }
  }
  try {
    const value = parseJson(text)
    return isObject(value)
      ? { number, value }
      : { number, fault: `unknown shape: a ${unit} is a JSON object` }
  } catch (error) {
    return { number, fault: `not JSON: ${(error as Error).message}` }
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
