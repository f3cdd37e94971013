import { parse } from 'lossless-json'

/**
 * Strict JSON without loss: an integer that no double holds becomes a bigint, every other number a double. Throws a
 * `SyntaxError` on text that is not JSON, on a repeated key and on a number beyond the largest double.
 */
export function parseJson(text: string): unknown {
  return parse(text, null, { parseNumber, onDuplicateKey: refuseDuplicate })
}

function parseNumber(text: string): number | bigint {
  const value = Number(text)
  if (!Number.isFinite(value)) throw new SyntaxError(`number ${text} is beyond the largest double`)
  if (Number.isSafeInteger(value) || !/^-?\d+$/.test(text)) return value
  const exact = BigInt(text)
  return exact === BigInt(value) ? value : exact
}

function refuseDuplicate({ key }: { readonly key: string }): never {
  throw new SyntaxError(`key '${key}' stands twice in one object`)
}
