import { parse } from 'lossless-json'

/**
 * Strict JSON without loss: an integer beyond 2^53 - 1 becomes a bigint, every other number a double. Throws a `SyntaxError` on
 * text that is not JSON or nested deeper than 64 levels, on a repeated key and on a number beyond the largest double.
 */
export function parseJson(text: string): unknown {
  refuseDeepNesting(text)
  const value = parse(text, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue })
  refuseRepeatedKeys(text)
  return value
}

function parseNumber(text: string): number | bigint {
  const value = Number(text)
  if (!Number.isFinite(value)) throw new SyntaxError(`number ${text} is beyond the largest double`)
  return Number.isSafeInteger(value) || !/^-?\d+$/.test(text) ? value : BigInt(text)
}

const deepest = 64

/** Readers of JSON call themselves for every level. */
function refuseDeepNesting(text: string): void {
  let depth = 0
  let isString = false
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (isString) {
      if (character === '\\') index++
      else if (character === '"') isString = false
    } else if (character === '"') isString = true
    else if (character === '{' || character === '[') {
      if (++depth > deepest) throw new SyntaxError(`nested too deep: more than ${deepest} levels`)
    } else if (character === '}' || character === ']') depth--
  }
}

/** The parser tells a key that is repeated with another value, but lets one pass that is repeated with an equal value. */
function refuseRepeatedKeys(text: string): void {
  const open: Set<string>[] = []
  for (const [token, colon] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}]/g)) {
    if (token === '{') open.push(new Set())
    else if (token === '}') open.pop()
    else if (colon !== undefined) {
      const key = String(JSON.parse(token.slice(0, -colon.length)))
      if (open.at(-1)!.has(key)) throw new SyntaxError(`key '${key}' stands twice in one object`)
      open.at(-1)!.add(key)
    }
  }
}
