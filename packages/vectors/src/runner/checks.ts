/** One value of a line that is not what the line says. */
export interface Mismatch {
  /** Which value, for example `costs[3]`. */
  readonly what: string
  /** Printed, with its bits when it is a number. */
  readonly expected: string
  readonly actual: string
}

/** Collects what does not match while a line is evaluated. */
export class Checks {
  readonly mismatches: Mismatch[] = []
  #scope = ''

  /**
   * Names the values that `body` checks after the way in which they were computed, for example `SIMD kernel`. Does nothing once
   * something did not match: what follows from the same value would say so again.
   */
  within(scope: string, body: () => void): void {
    if (this.mismatches.length > 0) return
    const outer = this.#scope
    this.#scope = outer === '' ? scope : `${outer}, ${scope}`
    try {
      body()
    } finally {
      this.#scope = outer
    }
  }

  /** Records a mismatch unconditionally. */
  fail(what: string, expected: unknown, actual: unknown): void {
    const name = this.#scope === '' ? what : `${what} (${this.#scope})`
    this.mismatches.push({ what: name, expected: show(expected), actual: show(actual) })
  }

  /**
   * The same value: doubles bit for bit, except that the sign of zero matters only with `signOfZero`. With a `tolerance` doubles
   * may differ by `tolerance * max(1, |a|, |b|)`.
   */
  equal(what: string, expected: unknown, actual: unknown, options: Comparison = {}): void {
    if (!same(expected, actual, options)) this.fail(what, expected, actual)
  }

  /** The same number of entries, and each the same value. */
  list(
    what: string,
    expected: readonly unknown[],
    actual: readonly unknown[],
    options: Comparison = {},
  ): void {
    this.equal(`${what}.length`, expected.length, actual.length)
    const length = Math.min(expected.length, actual.length)
    for (let index = 0; index < length; index++) {
      this.equal(`${what}[${index}]`, expected[index], actual[index], options)
    }
  }
}

/** How two numbers are compared; see `Checks.equal`. */
export interface Comparison {
  readonly tolerance?: number
  readonly signOfZero?: boolean
}

function same(
  expected: unknown,
  actual: unknown,
  { tolerance = 0, signOfZero = false }: Comparison,
): boolean {
  if (Object.is(expected, actual)) return true
  if (typeof expected !== 'number' || typeof actual !== 'number') return false
  if (expected === actual) return !signOfZero
  if (tolerance === 0 || !Number.isFinite(expected) || !Number.isFinite(actual)) return false
  return Math.abs(expected - actual) <= tolerance * Math.max(1, Math.abs(expected), Math.abs(actual))
}

const word = new DataView(new ArrayBuffer(8))

/** The 64 bits of a double or of a u64, in hexadecimal. */
function bits(value: number | bigint): string {
  if (typeof value === 'number') word.setFloat64(0, value)
  else word.setBigUint64(0, BigInt.asUintN(64, value))
  return `0x${word.getBigUint64(0).toString(16).padStart(16, '0')}`
}

/** A value as a mismatch prints it. */
function show(value: unknown): string {
  if (typeof value === 'number') return `${Object.is(value, -0) ? '-0' : value} (${bits(value)})`
  if (typeof value === 'bigint') return `${value} (${bits(value)})`
  if (typeof value === 'string' || value === undefined) return String(value)
  return JSON.stringify(value, (_key, inner: unknown) => (typeof inner === 'bigint' ? String(inner) : inner))
}
