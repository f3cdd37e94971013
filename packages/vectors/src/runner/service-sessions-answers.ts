/** Keys whose value is a map from something of the caller's: none may be added there. */
const mapKeys = new Set([
  'dp',
  'scores',
  'instances',
  'endpoints',
  'listeners',
  'topology_domains',
  'kv_events_endpoints',
  'router_hint_source_control_endpoints',
])

/** Keys that the recorded service gives in some answers only: where it does not, nobody may. */
const optionalKeys = new Set([
  'selection_id',
  'sequence_hashes',
  'isl_tokens',
  'track_prefill_tokens',
  'decode_busy',
  'worker_load',
  'total_kv_blocks',
  'prefill_busy',
  'kv_hint',
  'kv_events_endpoints',
  'router_hint_worker_type',
  'router_hint_source_control_endpoints',
  'kv_event_source_mode',
  'not_schedulable_reasons',
  'replay_endpoint',
  'last_error',
  'details',
])

/** A value of an answer that is not what a scenario says. */
export interface Difference {
  readonly path: string
  readonly expected: unknown
  readonly actual: unknown
}

type Object = Readonly<Record<string, unknown>>

/** The first difference between an expected body, with its `$` forms, and an actual one; `undefined` = it is as expected. */
export function differenceOf(expected: unknown, actual: unknown, path = 'body'): Difference | undefined {
  const different: Difference = { path, expected, actual }
  if (!isObject(expected)) {
    if (Array.isArray(expected)) return listDifference(expected, actual, path)
    return expected === actual ? undefined : different
  }
  if ('$any' in expected || '$text' in expected) return undefined
  if ('$string' in expected) return typeof actual === 'string' && actual !== '' ? undefined : different
  if ('$oneOf' in expected) {
    const isOne = (expected['$oneOf'] as unknown[]).some((one) => differenceOf(one, actual) === undefined)
    return isOne ? undefined : different
  }
  if ('$unordered' in expected) {
    const values = expected['$unordered'] as unknown[]
    const isSame = Array.isArray(actual) && actual.length === values.length && pairsUp(values, actual)
    return isSame ? undefined : different
  }
  if ('$map' in expected) return objectDifference(expected['$map'] as Object, actual, path, true)
  return objectDifference(expected, actual, path, mapKeys.has(path.split('.').at(-1)!))
}

function listDifference(expected: readonly unknown[], actual: unknown, path: string): Difference | undefined {
  if (!Array.isArray(actual) || actual.length !== expected.length) return { path, expected, actual }
  for (const [index, value] of expected.entries()) {
    const difference = differenceOf(value, actual[index], `${path}.${index}`)
    if (difference !== undefined) return difference
  }
  return undefined
}

function objectDifference(
  expected: Object,
  actual: unknown,
  path: string,
  isMap: boolean,
): Difference | undefined {
  if (!isObject(actual)) return { path, expected, actual }
  for (const [key, value] of Object.entries(expected)) {
    if (!Object.hasOwn(actual, key)) return { path: `${path}.${key}`, expected: value, actual: undefined }
    const difference = differenceOf(value, actual[key], `${path}.${key}`)
    if (difference !== undefined) return difference
  }
  for (const [key, value] of Object.entries(actual)) {
    if (Object.hasOwn(expected, key)) continue
    const mayBeAdded = !isMap && /^[a-z_]+$/.test(key) && !optionalKeys.has(key)
    if (!mayBeAdded) return { path: `${path}.${key}`, expected: undefined, actual: value }
  }
  return undefined
}

/** Whether each value fits an entry of its own; the lists are short. */
function pairsUp(values: readonly unknown[], entries: readonly unknown[]): boolean {
  const [first, ...others] = values
  if (values.length === 0) return true
  return entries.some(
    (entry, index) =>
      differenceOf(first, entry) === undefined && pairsUp(others, entries.toSpliced(index, 1)),
  )
}

function isObject(value: unknown): value is Object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
