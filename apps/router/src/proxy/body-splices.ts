import { type ObjectEntry, type ObjectScan, scanObject } from '@router/prompt'

/** What the proxy changes in a body. */
export interface BodyEdits {
  /** Name that the engine knows the model by, in place of an alias. */
  readonly model?: string | undefined
  /** Salt that came by header or in `nvext`. */
  readonly cacheSalt?: string | undefined
  /** Takes `nvext` out. */
  readonly dropsNvext?: boolean | undefined
  /** Asks for the usage of a stream, where the client did not. */
  readonly asksUsage?: boolean | undefined
}

/** A body for the engine. */
export interface SplicedBody {
  /** The very bytes of the client where nothing was edited. */
  readonly bytes: Uint8Array
  /** The engine will report a usage that the client did not ask for. */
  readonly addedUsage: boolean
}

/** Replaces the bytes `[start, end)` of a body by a text. */
interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/**
 * Edits a body by splices into its bytes: everything else stays as it was, byte for byte (host.md 14.2). Of a key that stands twice the
 * last one counts, as for engines. `O(bytes)` where something is edited. Errors: none for a scan of these bytes.
 */
export function spliceBody(bytes: Uint8Array, scan: ObjectScan, edits: BodyEdits): SplicedBody {
  const list = edits.dropsNvext === true ? withoutKey(bytes, scan.entries, 'nvext') : []
  const added: string[] = []
  const set = (key: string, text: string): void => {
    const entry = scan.find(key)
    if (entry === undefined) added.push(`${JSON.stringify(key)}:${text}`)
    else list.push({ start: entry.valueStart, end: entry.valueEnd, text })
  }
  if (edits.model !== undefined) set('model', JSON.stringify(edits.model))
  if (edits.cacheSalt !== undefined) set('cache_salt', JSON.stringify(edits.cacheSalt))
  let addedUsage = false
  if (edits.asksUsage === true && valueIs(bytes, scan.find('stream'), 'true')) {
    const usage = usageEdit(bytes, scan.find('stream_options'))
    addedUsage = usage !== undefined
    if (usage === 'absent') added.push('"stream_options":{"include_usage":true}')
    else if (usage !== undefined) list.push(usage)
  }
  if (added.length > 0) {
    const keepsSome = scan.entries.some(({ key }) => edits.dropsNvext !== true || key !== 'nvext')
    const at = scan.end - 1
    list.push({ start: at, end: at, text: `${keepsSome ? ',' : ''}${added.join(',')}` })
  }
  return { bytes: list.length === 0 ? bytes : applied(bytes, list), addedUsage }
}

/** Whether the value of an entry is this text. */
function valueIs(bytes: Uint8Array, entry: ObjectEntry | undefined, text: string): boolean {
  if (entry === undefined || entry.valueEnd - entry.valueStart !== text.length) return false
  for (let at = 0; at < text.length; at++)
    if (bytes[entry.valueStart + at] !== text.charCodeAt(at)) return false
  return true
}

/** How the options of a stream come to ask for its usage; `undefined` = they do, or are none that an engine takes. */
function usageEdit(bytes: Uint8Array, options: ObjectEntry | undefined): Edit | 'absent' | undefined {
  if (options === undefined) return 'absent'
  const { valueStart: start, valueEnd: end } = options
  if (valueIs(bytes, options, 'null')) return { start, end, text: '{"include_usage":true}' }
  if (bytes[start] !== 0x7b) return undefined
  const inner = scanObject(bytes, start, end)
  const asked = inner.find('include_usage')
  if (asked === undefined) {
    const comma = inner.entries.length > 0 ? ',' : ''
    return { start: inner.end - 1, end: inner.end - 1, text: `${comma}"include_usage":true` }
  }
  if (!valueIs(bytes, asked, 'false') && !valueIs(bytes, asked, 'null')) return undefined
  return { start: asked.valueStart, end: asked.valueEnd, text: 'true' }
}

/** Takes every entry of a key out, each with one comma. */
function withoutKey(bytes: Uint8Array, entries: readonly ObjectEntry[], key: string): Edit[] {
  let keptOne = false
  return entries.flatMap((entry, index) => {
    if (entry.key !== key) {
      keptOne = true
      return []
    }
    if (keptOne) return { start: entries[index - 1]!.valueEnd, end: entry.valueEnd, text: '' }
    const isLast = index === entries.length - 1
    const end = isLast ? entry.valueEnd : bytes.indexOf(0x2c, entry.valueEnd) + 1
    return { start: entry.keyStart, end, text: '' }
  })
}

function applied(bytes: Uint8Array, edits: readonly Edit[]): Uint8Array {
  const pieces: Uint8Array[] = []
  let at = 0
  for (const { start, end, text } of edits.toSorted((a, b) => a.start - b.start)) {
    pieces.push(bytes.subarray(at, start), Buffer.from(text))
    at = end
  }
  pieces.push(bytes.subarray(at))
  return Buffer.concat(pieces)
}
