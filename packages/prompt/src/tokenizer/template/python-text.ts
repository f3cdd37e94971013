import type { RuntimeValue } from './jinja-library.js'
import {
  ArrayValue,
  BooleanValue,
  FloatValue,
  IntegerValue,
  NullValue,
  ObjectValue,
  StringValue,
  UndefinedValue,
} from './runtime-values.js'

// What Python's `str.strip` takes away; JavaScript's `trim` differs in five characters.
const pythonSpaces =
  '\t\n\v\f\r\u001c\u001d\u001e\u001f \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000'

/** Python's `strip`, `lstrip` and `rstrip`: the characters of `characters` are taken from both ends or one; default white space. */
export function strip(
  text: string,
  ends: 'strip' | 'lstrip' | 'rstrip',
  characters: string | undefined = undefined,
): string {
  const taken = characters === undefined ? pythonSpaces : characters
  let start = 0
  let end = text.length
  if (ends !== 'rstrip') while (start < end && taken.includes(text[start]!)) start++
  if (ends !== 'lstrip') while (end > start && taken.includes(text[end - 1]!)) end--
  return start === 0 && end === text.length ? text : text.slice(start, end)
}

/** Its first letter large, all others small. */
export function capitalized(text: string): string {
  const [first = ''] = text
  return first.toUpperCase() + text.slice(first.length).toLowerCase()
}

/** Jinja's filter `title`: what follows white space, a dash or an opening bracket is capitalized. */
export function titled(text: string): string {
  return text.replaceAll(/[^-\s({[<]+/gu, capitalized)
}

/** A number with a fraction, as Python writes it: `1.0`, `1e-05`, `1e+16`. */
function pythonFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity'
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  const [digits, exponent] = value.toExponential().split('e') as [string, string]
  const power = Number(exponent)
  if (power >= -4 && power < 16) return Number.isInteger(value) ? `${BigInt(value)}.0` : String(value)
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}

/** What `{{ value }}` prints in Python. */
export function printed(value: RuntimeValue): string {
  if (value instanceof StringValue) return value.value
  if (value instanceof UndefinedValue) return ''
  return representation(value)
}

function representation(value: RuntimeValue): string {
  if (value instanceof StringValue) return quoted(value.value)
  if (value instanceof BooleanValue) return value.value ? 'True' : 'False'
  if (value instanceof NullValue) return 'None'
  if (value instanceof FloatValue) return pythonFloat(value.value).replace('Infinity', 'inf')
  if (value instanceof IntegerValue) return String(value.value)
  if (value instanceof ArrayValue) return `[${value.value.map(representation).join(', ')}]`
  if (value instanceof ObjectValue) {
    const entries = [...value.value].map(([key, held]) => `${quoted(key)}: ${representation(held)}`)
    return `{${entries.join(', ')}}`
  }
  return value.toString()
}

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  // All that Python does not count as printable.
  const escaped = text.replaceAll(/[\\'"]|(?! )[\p{C}\p{Z}]/gu, (character) => {
    if (character === '\\') return '\\\\'
    if (character === '\n') return '\\n'
    if (character === '\r') return '\\r'
    if (character === '\t') return '\\t'
    if (character === "'" || character === '"') return character === quote ? `\\${character}` : character
    const point = character.codePointAt(0)!
    if (point < 0x100) return `\\x${point.toString(16).padStart(2, '0')}`
    if (point < 0x1_0000) return `\\u${point.toString(16).padStart(4, '0')}`
    return `\\U${point.toString(16).padStart(8, '0')}`
  })
  return quote + escaped + quote
}

/** How `tojson` writes; what is absent is as in Python's `json.dumps`. */
export interface JsonStyle {
  readonly indent?: number | undefined
  readonly ensuresAscii?: boolean | undefined
  readonly sortsKeys?: boolean | undefined
  readonly separators?: readonly [string, string] | undefined
  /** The text may have so many characters (UTF-16 units). Default: as many as a text can have. */
  readonly maximumCharacters?: number | undefined
}

/** Python's `json.dumps` of a template's value. Throws where it has no JSON, and a `RangeError` beyond the maximum of characters. */
export function pythonJson(value: RuntimeValue, style: JsonStyle = {}, depth = 0): string {
  if (value instanceof StringValue) return jsonText(value.value, style)
  if (value instanceof BooleanValue) return value.value ? 'true' : 'false'
  if (value instanceof NullValue) return 'null'
  if (value instanceof FloatValue) return pythonFloat(value.value)
  if (value instanceof IntegerValue) return String(value.value)
  const [between, afterKey] = style.separators ?? [style.indent === undefined ? ', ' : ',', ': ']
  if (value instanceof ArrayValue) {
    const items = value.value.map((item) => pythonJson(item, style, depth + 1))
    return enclosed('[', items, ']', between, style, depth)
  }
  if (!(value instanceof ObjectValue)) throw new TypeError(`tojson of ${value.type}: it has no JSON`)
  const entries = [...value.value]
  if (style.sortsKeys === true) entries.sort(([left], [right]) => (left < right ? -1 : 1))
  const items = entries.map(
    ([key, held]) => jsonText(key, style) + afterKey + pythonJson(held, style, depth + 1),
  )
  return enclosed('{', items, '}', between, style, depth)
}

function enclosed(
  open: string,
  items: readonly string[],
  close: string,
  between: string,
  { indent, maximumCharacters = Infinity }: JsonStyle,
  depth: number,
): string {
  if (indent === undefined || items.length === 0) return open + items.join(between) + close
  const outer = `\n${' '.repeat(indent * depth)}`
  const inner = outer + ' '.repeat(indent)
  // Checked before: of a little that is nested deeply it may be gigabytes.
  const length = items.reduce((sum, item) => sum + item.length + between.length + inner.length, 0)
  if (length > maximumCharacters)
    throw new RangeError(`its JSON has more than ${maximumCharacters} characters`)
  return open + inner + items.join(between + inner) + outer + close
}

function jsonText(text: string, { ensuresAscii = false }: JsonStyle): string {
  const json = JSON.stringify(text)
  if (!ensuresAscii) return json
  return json.replaceAll(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const months = 'January February March April May June July August September October November December'.split(
  ' ',
)
const days = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')

/** Python's `strftime` in the C locale, of the local time; what is not known stays as it is. */
export function strftime(date: Date, format: string): string {
  const two = (value: number): string => String(value).padStart(2, '0')
  const month = months[date.getMonth()]!
  const day = days[date.getDay()]!
  const fields: Record<string, string> = {
    Y: String(date.getFullYear()),
    y: two(date.getFullYear() % 100),
    m: two(date.getMonth() + 1),
    d: two(date.getDate()),
    H: two(date.getHours()),
    I: two(date.getHours() % 12 === 0 ? 12 : date.getHours() % 12),
    M: two(date.getMinutes()),
    S: two(date.getSeconds()),
    p: date.getHours() < 12 ? 'AM' : 'PM',
    B: month,
    b: month.slice(0, 3),
    A: day,
    a: day.slice(0, 3),
    j: String(dayOfYear(date)).padStart(3, '0'),
    '%': '%',
  }
  return format.replaceAll(/%(.)/g, (whole, field: string) => fields[field] ?? whole)
}

function dayOfYear(date: Date): number {
  const [today, start] = [date.getDate(), 0].map((day, index) =>
    Date.UTC(date.getFullYear(), index === 0 ? date.getMonth() : 0, day),
  ) as [number, number]
  return Math.round((today - start) / 86_400_000)
}
