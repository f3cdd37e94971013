/** A number that was written with a fraction or an exponent: Python prints `1.0` as such, JavaScript forgets it. */
export class JsonFloat {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

const numberPattern = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const literals = [
  ['true', true],
  ['false', false],
  ['null', null],
] as const

/**
 * `JSON.parse` that keeps what a Python program would: numbers with a fraction or exponent are `JsonFloat`, whole ones beyond 2^53
 * are bigint, and objects with keys that look like indices are a `Map`, since a plain object would reorder them. Other objects are
 * plain, without a prototype. `O(text)`, some times slower than `JSON.parse`. Throws a `SyntaxError`, and a `RangeError` where the
 * text is nested too deeply.
 */
export function parseExactJson(text: string): unknown {
  const reader = new ExactReader(text)
  const value = reader.value()
  reader.end()
  return value
}

/** Whether `JSON.parse` may have lost something of this value: it has a number or a key that looks like an index. */
export function mayBeInexact(value: unknown): boolean {
  if (typeof value === 'number') return true
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(mayBeInexact)
  return Object.entries(value).some(([key, held]) => isIndex(key) || mayBeInexact(held))
}

function isIndex(key: string): boolean {
  return /^(?:0|[1-9]\d*)$/.test(key)
}

class ExactReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(): unknown {
    const first = this.#peek()
    if (first === '"') return this.#string()
    if (first === '{') return this.#object()
    if (first === '[') return this.#array()
    for (const [word, value] of literals) {
      if (!this.#text.startsWith(word, this.#at)) continue
      this.#at += word.length
      return value
    }
    return this.#number()
  }

  end(): void {
    if (this.#peek() !== undefined) this.#refuse()
  }

  #peek(): string | undefined {
    while (' \t\n\r'.includes(this.#text[this.#at] ?? '!')) this.#at++
    return this.#text[this.#at]
  }

  #take(expected: string): void {
    if (this.#peek() !== expected) this.#refuse()
    this.#at++
  }

  #refuse(): never {
    throw new SyntaxError(`unexpected ${this.#text[this.#at] ?? 'end'} at ${this.#at} of the JSON`)
  }

  #number(): unknown {
    numberPattern.lastIndex = this.#at
    const match = numberPattern.exec(this.#text)
    if (match === null) return this.#refuse()
    this.#at += match[0].length
    const value = Number(match[0])
    if (match[1] !== undefined || match[2] !== undefined) return new JsonFloat(value)
    if (Number.isSafeInteger(value)) return value === 0 ? 0 : value
    return BigInt(match[0])
  }

  #string(): string {
    const start = this.#at
    let end = this.#text.indexOf('"', start + 1)
    while (end >= 0 && this.#isEscaped(end)) end = this.#text.indexOf('"', end + 1)
    if (end < 0) {
      this.#at = this.#text.length
      return this.#refuse()
    }
    this.#at = end + 1
    return JSON.parse(this.#text.slice(start, end + 1)) as string
  }

  #isEscaped(quote: number): boolean {
    let backslashes = 0
    while (this.#text[quote - 1 - backslashes] === '\\') backslashes++
    return backslashes % 2 === 1
  }

  #array(): unknown[] {
    const items: unknown[] = []
    this.#take('[')
    if (this.#peek() === ']') this.#at++
    else
      do items.push(this.value())
      while (this.#isNext(']'))
    return items
  }

  #object(): unknown {
    const entries = new Map<string, unknown>()
    this.#take('{')
    if (this.#peek() === '}') this.#at++
    else
      do {
        if (this.#peek() !== '"') this.#refuse()
        const key = this.#string()
        this.#take(':')
        entries.set(key, this.value())
      } while (this.#isNext('}'))
    if ([...entries.keys()].some(isIndex)) return entries
    return Object.assign(Object.create(null), Object.fromEntries(entries))
  }

  /** Whether another item follows; false past the closing bracket. */
  #isNext(closing: string): boolean {
    const next = this.#peek()
    if (next !== ',' && next !== closing) this.#refuse()
    this.#at++
    return next === ','
  }
}
