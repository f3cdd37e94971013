/** What an unquoted YAML scalar stands for. */
export type PlainScalar =
  | { readonly kind: 'null' }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'integer'; readonly value: bigint }
  | { readonly kind: 'float'; readonly value: number }
  /** An integer that fits neither u64 nor i64. */
  | { readonly kind: 'too-large' }
  | { readonly kind: 'text' }

const specialFloats: ReadonlyMap<string, number> = new Map([
  ...['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'].map((text) => [text, Infinity] as const),
  ...['-.inf', '-.Inf', '-.INF'].map((text) => [text, -Infinity] as const),
  ...['.nan', '.NaN', '.NAN'].map((text) => [text, Number.NaN] as const),
])

const integerPattern = /^([+-]?)(0x[0-9a-f]+|0o[0-7]+|0b[01]+|0|[1-9][0-9]*)$/iu
const floatPattern = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/u

/**
 * Reads a plain scalar as Dynamo does: YAML 1.2 core with exact integers, where `0x10`, `0o17` and `+5` are integers, `010` and
 * `1_000` texts, and `1e3`, `1.` and `.5` floats.
 */
export function readPlainScalar(text: string): PlainScalar {
  if (/^(?:|~|null|Null|NULL)$/u.test(text)) return { kind: 'null' }
  if (/^(?:true|True|TRUE)$/u.test(text)) return { kind: 'boolean', value: true }
  if (/^(?:false|False|FALSE)$/u.test(text)) return { kind: 'boolean', value: false }
  const [, sign, digits] = integerPattern.exec(text) ?? []
  if (digits !== undefined && !/^0[XOB]/u.test(digits))
    return integer(sign === '-' ? -BigInt(digits) : BigInt(digits))
  const special = specialFloats.get(text)
  if (special !== undefined) return { kind: 'float', value: special }
  const hasLeadingZero = /^[+-]?0[0-9]+$/u.test(text)
  if (hasLeadingZero || !floatPattern.test(text)) return { kind: 'text' }
  const value = Number(text)
  return Number.isFinite(value) ? { kind: 'float', value } : { kind: 'text' }
}

function integer(value: bigint): PlainScalar {
  return value >= -(2n ** 63n) && value < 2n ** 64n ? { kind: 'integer', value } : { kind: 'too-large' }
}
