/** What the text of a setting is. A list of texts = one of them; `list` and `pairs` are comma lists, and may be given again and again. */
export type SettingKind = 'switch' | 'number' | 'integer' | 'text' | 'list' | 'pairs' | readonly string[]

/** The value of a setting; absent = nobody gave it, and it has no default. */
export type SettingValue =
  | string
  | number
  | boolean
  | readonly string[]
  | ReadonlyMap<string, string>
  | undefined

/** A setting of `router serve` that a flag or a variable gives. */
export interface ServeSetting {
  /** Without dashes. */
  readonly flag: string
  /** Further flags for the same, without dashes. */
  readonly shortForms: readonly string[]
  readonly variable: string
  /** Dynamo's variable; absent = it has none. */
  readonly alias: string | undefined
  readonly kind: SettingKind
  /** Of numbers. */
  readonly minimum: number
  readonly maximum: number
  /** Of texts; absent = any. */
  readonly pattern: RegExp | undefined
  readonly fallback: SettingValue
  /** One line; says what missing means where there is no default. */
  readonly description: string
  /** What a text must be, for messages and the help; absent = as the kind says. */
  readonly accepts: string | undefined
  /** A secret: given by its variable alone, and never shown. */
  readonly isSecret: boolean
  /** Why it does nothing in this version; absent = it acts. */
  readonly inert: string | undefined
  /** What it acts in: router mode kv, a main listener; absent = always. */
  readonly needs: 'kv' | 'main' | undefined
}

interface SettingDetails {
  /** `null` = none; absent = `DYN_` and the flag. */
  readonly alias?: string | null
  readonly shortForms?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: RegExp
  readonly accepts?: string
  readonly isSecret?: boolean
  readonly inert?: string
  readonly needs?: 'kv' | 'main'
}

/** Timers of Node take no more. */
export const longestTimerSecs = 2_147_483

/** A setting whose variable, and whose alias unless it says otherwise, follow from its flag. */
export function setting(
  flag: string,
  kind: SettingKind,
  fallback: SettingValue,
  description: string,
  details: SettingDetails = {},
): ServeSetting {
  const words = flag.replaceAll('-', '_').toUpperCase()
  const { alias = `DYN_${words}`, minimum = 0, maximum = Infinity } = details
  return {
    flag,
    shortForms: details.shortForms ?? [],
    variable: `ROUTER_${words.replace(/^ROUTER_/, '')}`,
    alias: alias ?? undefined,
    kind,
    minimum,
    maximum,
    pattern: details.pattern,
    fallback,
    description,
    accepts: details.accepts,
    isSecret: details.isSecret ?? false,
    inert: details.inert,
    needs: details.needs,
  }
}

/** A text that a setting does not take. */
export const refused = Symbol('refused')

/** The value that a text stands for; `undefined` = as good as not given (blank), `null` = unset (`None`). */
export function valueOf(one: ServeSetting, text: string): SettingValue | null | typeof refused {
  const { kind, minimum, maximum, pattern, fallback } = one
  const trimmed = text.trim()
  if (kind === 'text') {
    if (trimmed === '') return undefined
    return pattern === undefined || pattern.test(trimmed) ? trimmed : refused
  }
  if (kind === 'list' || kind === 'pairs') return entriesOf(one, trimmed)
  if (kind === 'switch') {
    if (text === 'true' || text === '1') return true
    return text === 'false' || text === '0' ? false : refused
  }
  if (typeof kind !== 'string') return kind.includes(text) ? text : refused
  if (text === 'None' && fallback === undefined) return null
  const value = /^-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) ? Number(text) : Number.NaN
  const isInRange = value >= minimum && value <= maximum && value < Infinity
  return isInRange && (kind === 'number' || Number.isSafeInteger(value)) ? value : refused
}

function entriesOf({ kind, pattern }: ServeSetting, text: string): SettingValue | typeof refused {
  const entries = text.split(',').map((entry) => entry.trim())
  const given = entries.filter((entry) => entry !== '')
  if (given.length === 0) return undefined
  if (pattern !== undefined && given.some((entry) => !pattern.test(entry))) return refused
  return kind === 'list' ? given : pairsOf(given)
}

/** `KEY=VALUE` entries; one without a key has the key ''. Refused: a key that is there twice. */
function pairsOf(entries: readonly string[]): ReadonlyMap<string, string> | typeof refused {
  const pairs = new Map<string, string>()
  for (const entry of entries) {
    const at = entry.indexOf('=')
    const key = at < 0 ? '' : entry.slice(0, at).trim()
    if (pairs.has(key)) return refused
    pairs.set(key, entry.slice(at + 1).trim())
  }
  return pairs
}

/** What a text must be. */
export function acceptedBy({ kind, minimum, maximum, accepts, fallback }: ServeSetting): string {
  if (accepts !== undefined) return accepts
  if (kind === 'switch') return 'true, false, 1, 0'
  if (kind === 'text') return 'a text'
  if (kind === 'list') return 'a comma list'
  if (kind === 'pairs') return 'KEY=VALUE, each key once'
  if (typeof kind !== 'string') return kind.join(', ')
  const what = kind === 'integer' ? 'an integer' : 'a finite number'
  const range = maximum === Infinity ? `${what} >= ${minimum}` : `${what} from ${minimum} to ${maximum}`
  return fallback === undefined ? `${range}, or None` : range
}
