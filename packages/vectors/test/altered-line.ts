/** A copy of a JSON value with one leaf replaced. */
export function withLeaf(
  value: unknown,
  path: readonly (string | number)[],
  change: (leaf: unknown) => unknown,
): unknown {
  const [key, ...rest] = path
  if (key === undefined) return change(value)
  if (Array.isArray(value))
    return value.map((item, index) => (index === key ? withLeaf(item, rest, change) : item))
  const object = value as Readonly<Record<string, unknown>>
  return { ...object, [key]: withLeaf(object[key], rest, change) }
}

/** Paths of the leaves below a value. */
export function leavesOf(value: unknown, path: readonly (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [[...path]]
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value)
  return entries.flatMap(([key, inner]) => leavesOf(inner, [...path, key]))
}

const word = new DataView(new ArrayBuffer(8))

/** The next double away from zero. */
function nextDouble(value: number): number {
  if (value === 0) return Number.MIN_VALUE
  word.setFloat64(0, value)
  word.setBigUint64(0, word.getBigUint64(0) + 1n)
  return word.getFloat64(0)
}

/** Another value of the same kind: the smallest change that a comparison with this tolerance must notice. */
export function altered(leaf: unknown, tolerance = 0): unknown {
  if (typeof leaf === 'boolean') return !leaf
  if (leaf === null) return 0
  if (typeof leaf === 'string') return alteredText(leaf)
  if (typeof leaf !== 'number') throw new TypeError(`cannot alter ${String(leaf)}`)
  if (tolerance > 0) return leaf + 4 * tolerance * Math.max(1, Math.abs(leaf))
  return Number.isSafeInteger(leaf) ? leaf + 1 : nextDouble(leaf)
}

const words: Readonly<Record<string, string>> = {
  fit: 'fallback',
  fallback: 'fit',
  ok: 'InvalidPickerRow',
  InvalidPickerRow: 'ok',
  NonFiniteCost: 'NoEndpoints',
  NoEndpoints: 'AllEligibleWorkersOverloaded',
  AllEligibleWorkersOverloaded: 'NoEndpoints',
  PinnedWorkerOverloaded: 'NoEndpoints',
  PinnedWorkerNotAllowed: 'NoEndpoints',
  WorkerNotAllowed: 'WorkerNotRoutable',
  WorkerNotRoutable: 'WorkerNotAllowed',
  WorkerUnavailable: 'WorkerOverloaded',
  DpRankUnavailable: 'WorkerOverloaded',
  RoutingConstraintsUnsatisfied: 'WorkerOverloaded',
  WorkerOverloaded: 'WorkerUnavailable',
}

function alteredText(text: string): string {
  if (words[text] !== undefined) return words[text]
  if (/^\d+\.\d+$/.test(text)) return `${text}7`
  if (/^\d+$/.test(text)) return String((BigInt(text) + 1n) % (1n << 64n))
  throw new TypeError(`no other value is known for '${text}'`)
}
