import { bodyError } from './body-errors.js'
import { JsonScanner } from './json-scanner.js'
import { JsonView } from './json-view.js'

/** One entry of an object. Ranges are bytes `[start, end)`, quotes and brackets included. */
export interface ObjectEntry {
  /** As `JSON.parse` reads it. */
  readonly key: string
  readonly keyStart: number
  readonly keyEnd: number
  readonly valueStart: number
  readonly valueEnd: number
}

/** Where the entries of an object lie in its bytes. */
export interface ObjectScan {
  /** Where its opening brace stands. */
  readonly start: number
  /** Behind its closing brace. */
  readonly end: number
  /** In the order of the bytes; keys that are there twice are here twice. */
  readonly entries: readonly ObjectEntry[]
  /** The last entry of a key, which is the one that counts. `O(entries)`. */
  find(key: string): ObjectEntry | undefined
}

let scanner: JsonScanner | undefined

/**
 * Finds the entries of a JSON object, so that bytes can be spliced without parsing or writing anything else. All of it is checked, as
 * strictly as `JSON.parse` does; linear in the bytes, also where they nest deeply. With `start` and `end`, the object within a longer text,
 * such as the value of an entry. Throws `PROMPT_BODY_INVALID` (offsets from `start` on), `PROMPT_BODY_TOO_LARGE`.
 */
export function scanObject(bytes: Uint8Array, start = 0, end = bytes.length): ObjectScan {
  scanner ??= new JsonScanner()
  const part = bytes.subarray(start, end)
  return entriesOf(new JsonView(part, scanner.scan(part)), start)
}

/** The entries of the object that a text is. Error: `PROMPT_BODY_INVALID` when it is none. @param offset of the text in the bytes that are meant */
export function entriesOf(view: JsonView, offset = 0): ObjectScan {
  const { tape } = view
  if (!view.isObject(0)) throw bodyError(view.bytes, tape.start(0), '"{"')
  const entries: ObjectEntry[] = []
  for (let key = 1; key < tape.count; key = tape.next(key + 1)) {
    entries.push({
      key: view.name(key),
      keyStart: offset + tape.start(key),
      keyEnd: offset + tape.end(key),
      valueStart: offset + tape.start(key + 1),
      valueEnd: offset + tape.end(key + 1),
    })
  }
  return {
    start: offset + tape.start(0),
    end: offset + tape.end(0),
    entries,
    find: (key) => entries.findLast((entry) => entry.key === key),
  }
}
