import { type ConfigPath, type Fault, maximumIssues, showList, showPath, showValue } from './issues.js'
import type { QueueProfile } from './policy-file.js'
import { type FileValues, profileKeys } from './schema.js'
import { suggest } from './suggest.js'

type ProfileValues = Pick<FileValues, (typeof profileKeys)[number]>
type ClassValues = NonNullable<ProfileValues['policy_classes']>[number]
type Form = QueueProfile['form']

const forms =
  'matrix: default_policy_family, uncached_isl_buckets, policy_classes; flat: default_policy_class, policy_classes'
const requiredKeys = {
  matrix: ['default_policy_family', 'uncached_isl_buckets', 'policy_classes'],
  flat: ['default_policy_class', 'policy_classes'],
} as const
/** Keys of a class that only the other form has. */
const foreignClassKeys = {
  matrix: ['slo_ms'],
  flat: ['policy_family', 'cache_bucket', 'queue_policy', 'busy_worker_ratio'],
} as const

/** The form that the keys of a profile ask for, both, or neither. */
function formsOf(profile: ProfileValues): readonly Form[] {
  const isMatrix = profile.default_policy_family !== undefined || profile.uncached_isl_buckets !== undefined
  return [
    ...(isMatrix ? (['matrix'] as const) : []),
    ...(profile.default_policy_class === undefined ? [] : (['flat'] as const)),
  ]
}

/** True when the mapping has a key of a profile. */
export function hasProfile(values: object): boolean {
  return profileKeys.some((key) => Object.hasOwn(values, key))
}

/** Checks what the keys of a profile mean together. */
export function checkProfile(
  profile: ProfileValues,
  path: ConfigPath,
): { profile?: QueueProfile; faults: Fault[] } {
  const found = formsOf(profile)
  const [form] = found
  if (form === undefined || found.length > 1) {
    const problem = form === undefined ? 'needs the keys of one form' : 'mixes two forms'
    const where = path.length === 0 ? 'the queue profile' : showPath(path)
    const at = profileKeys.findLast((key) => profile[key] !== undefined)
    return {
      faults: [
        {
          path: at === undefined ? path : [...path, at],
          at: 'key',
          message: `${where} ${problem}`,
          accepted: forms,
        },
      ],
    }
  }
  const faults: Fault[] = requiredKeys[form]
    .filter((key) => profile[key] === undefined)
    .map((key) => ({
      path: [...path, key],
      message: `missing key '${key}' in ${showPath(path)}`,
      accepted: forms,
    }))
  const classes = profile.policy_classes ?? []
  const at = (index: number, key?: string): ConfigPath => [
    ...path,
    'policy_classes',
    index,
    ...(key === undefined ? [] : [key]),
  ]
  const names = new Set<string>()
  for (const [index, each] of classes.entries()) {
    for (const key of foreignClassKeys[form]) {
      if (each[key] === undefined) continue
      const message = `key '${key}' in ${showPath(at(index))} belongs to the ${form === 'matrix' ? 'flat' : 'matrix'} form`
      faults.push({
        path: at(index, key),
        at: 'key',
        message,
        value: each[key],
        accepted: `the keys of the ${form} form`,
      })
    }
    if (names.has(each.name)) {
      faults.push({
        path: at(index, 'name'),
        message: `duplicate class name ${showValue(each.name)}`,
        value: each.name,
        accepted: 'a name once',
      })
    }
    names.add(each.name)
  }
  if (faults.length > 0) return { faults }
  const later = form === 'matrix' ? matrixFaults(profile, path) : flatFaults(profile, path)
  return later.length > 0 ? { faults: later } : { profile: { form, ...profile } as QueueProfile, faults: [] }
}

function flatFaults(profile: ProfileValues, path: ConfigPath): Fault[] {
  const classes = profile.policy_classes ?? []
  const faults: Fault[] = classes.flatMap(({ slo_ms: slo }, index) => {
    const place = [...path, 'policy_classes', index]
    const message = `missing key 'slo_ms' in ${showPath(place)}`
    return slo === undefined ? [{ path: [...place, 'slo_ms'], message, accepted: 'a number > 0' }] : []
  })
  return [
    ...faults,
    ...notListed(profile.default_policy_class!, new Set(classes.map(({ name }) => name)), [
      ...path,
      'default_policy_class',
    ]),
  ]
}

function matrixFaults(profile: ProfileValues, path: ConfigPath): Fault[] {
  const buckets = profile.uncached_isl_buckets ?? []
  const classes = profile.policy_classes ?? []
  const names = new Set(buckets.map(({ bucket }) => bucket))
  const families = new Set(classes.flatMap(({ policy_family: family }) => family ?? []))
  const firstOf = new Map<string, ClassValues>()
  for (const each of classes) {
    const pair = pairOf(each.policy_family, each.cache_bucket)
    if (!firstOf.has(pair)) firstOf.set(pair, each)
  }
  const faults: Fault[] = bucketFaults(buckets, [...path, 'uncached_isl_buckets'])
  for (const [index, each] of classes.entries()) {
    if (faults.length >= maximumIssues) return faults
    faults.push(...classFaults(each, index, { path, firstOf, names, families }))
  }
  for (const family of families) {
    if (faults.length >= maximumIssues) return faults
    const missing = [...names].filter((bucket) => !firstOf.has(pairOf(family, bucket)))
    if (missing.length === 0) continue
    const message = `family '${family}' has no class for the buckets ${showList(missing)}`
    faults.push({
      path: [...path, 'policy_classes'],
      at: 'key',
      message,
      accepted: 'one class per family and bucket',
    })
  }
  return [
    ...faults,
    ...notListed(profile.default_policy_family!, families, [...path, 'default_policy_family']),
  ]
}

/** A class by family and bucket; names have no blanks. */
function pairOf(family: string | undefined, bucket: string | undefined): string {
  return `${family ?? ''} ${bucket ?? ''}`
}

function bucketFaults(
  buckets: NonNullable<ProfileValues['uncached_isl_buckets']>,
  path: ConfigPath,
): Fault[] {
  if (buckets.length === 0)
    return [
      { path, message: `${showPath(path)} is empty`, accepted: 'at least the bucket with min_tokens: 0' },
    ]
  const seen = new Set<string>()
  return buckets.flatMap(({ min_tokens: tokens, bucket }, index) => {
    const previous = buckets[index - 1]?.min_tokens
    const isFirst = previous === undefined
    const faults: Fault[] = []
    if (isFirst ? tokens !== 0 : tokens <= previous) {
      const accepted = isFirst ? '0 in the first bucket' : `an integer > ${previous}, the bucket before it`
      faults.push({
        path: [...path, index, 'min_tokens'],
        message: `min_tokens cannot be ${tokens} here`,
        value: tokens,
        accepted,
      })
    }
    if (seen.has(bucket)) {
      faults.push({
        path: [...path, index, 'bucket'],
        message: `duplicate bucket '${bucket}'`,
        value: bucket,
        accepted: 'a name once',
      })
    }
    seen.add(bucket)
    return faults
  })
}

interface MatrixFacts {
  readonly path: ConfigPath
  /** The first class of each family and bucket. */
  readonly firstOf: ReadonlyMap<string, ClassValues>
  readonly names: ReadonlySet<string>
  readonly families: ReadonlySet<string>
}

function classFaults(
  each: ClassValues,
  index: number,
  { path, firstOf, names, families }: MatrixFacts,
): Fault[] {
  const place = [...path, 'policy_classes', index]
  const { policy_family: family, cache_bucket: bucket } = each
  if ((family === undefined) !== (bucket === undefined)) {
    const [present, absent] =
      family === undefined ? ['cache_bucket', 'policy_family'] : ['policy_family', 'cache_bucket']
    const message = `class '${each.name}' has ${present} but no ${absent}`
    return [
      {
        path: [...place, present],
        at: 'key',
        message,
        accepted: 'both, or neither for a class that requests name',
      },
    ]
  }
  if (family === undefined || bucket === undefined) {
    const message = `class '${each.name}' without family has the name of a family`
    return families.has(each.name)
      ? [{ path: [...place, 'name'], message, value: each.name, accepted: 'another name' }]
      : []
  }
  const faults = notListed(bucket, names, [...place, 'cache_bucket'])
  const first = firstOf.get(pairOf(family, bucket))
  if (first !== undefined && first !== each) {
    const message = `family '${family}' has two classes for the bucket '${bucket}': '${first.name}' and '${each.name}'`
    faults.push({
      path: [...place, 'cache_bucket'],
      message,
      value: bucket,
      accepted: 'one class per family and bucket',
    })
  }
  return faults
}

function notListed(value: string, names: ReadonlySet<string>, path: ConfigPath): Fault[] {
  if (names.has(value)) return []
  const listed = [...names]
  const message = `${String(path.at(-1))} cannot be '${value}': it is not listed`
  return [
    { path, message, value, accepted: showList(listed) || '<none>', suggestion: suggest(value, listed) },
  ]
}
