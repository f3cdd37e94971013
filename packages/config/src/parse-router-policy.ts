import { type JsonSchema, inputSchemaOf } from '@router/sdk'
import { withoutEchoes } from './accepted.js'
import { checkProfile, hasProfile } from './check-profile.js'
import {
  checkRequestClassifier,
  checkRouter,
  checkWorkerSelection,
  toWorkerSelectionConfig,
} from './check-sections.js'
import { type Fault, maximumIssues, showPath, showValue, throwIssues, toIssue } from './issues.js'
import type {
  QueueProfile,
  RequestClassifierConfig,
  RouterPolicyFile,
  RouterSettings,
} from './policy-file.js'
import { readValues } from './read-value.js'
import { type FileValues, fileSchema, profileKeys } from './schema.js'
import { faultsOf } from './strict-yaml.js'
import { type YamlSource, parseYaml } from './yaml-source.js'

/** Bytes that a policy file may have. */
const maximumBytes = 1024 * 1024

let jsonSchema: JsonSchema | undefined

/** A checked file together with its text positions, for errors found later. */
export interface ParsedPolicyFile {
  readonly policyFile: RouterPolicyFile
  readonly source: YamlSource
}

/**
 * Parses and checks the text of a router-policy file. Pure: types of policies are looked up by `loadRouterPolicy`.
 * Errors (`ConfigError` with all issues of the stage): `ROUTER_CONFIG_PARSE`, then `ROUTER_CONFIG_INVALID`.
 * @param fileName for messages
 */
export function parseRouterPolicy(text: string, fileName = 'router-policy.yaml'): RouterPolicyFile {
  return parsePolicyFile(text, fileName).policyFile
}

/** As `parseRouterPolicy`, and keeps the positions. */
export function parsePolicyFile(text: string, fileName: string): ParsedPolicyFile {
  checkSize(text, fileName)
  const source = parseYaml(text, fileName)
  const { value, issues } = readValues(source, fileSchema)
  throwIssues(issues, 'ROUTER_CONFIG_PARSE')
  const { values, faults } = checkKeys(value ?? {})
  const { sections, faults: later } = checkSections(values, isEmptyFile(value))
  const reported = new Set(faults.map(({ path }) => showPath(path)))
  const all = [...faults, ...later.filter(({ path }) => path.length === 0 || !reported.has(showPath(path)))]
  throwIssues(
    all.slice(0, maximumIssues).map((fault) => toIssue(fault, source)),
    'ROUTER_CONFIG_INVALID',
  )
  return { policyFile: { file: fileName, ...sections }, source }
}

/** Refuses a text that no policy file needs, before anything is built of it. */
function checkSize(text: string, file: string): void {
  const isSmall =
    text.length <= maximumBytes / 4 ||
    (text.length <= maximumBytes && new TextEncoder().encode(text).length <= maximumBytes)
  if (isSmall) return
  const accepted = `a file of at most ${maximumBytes} bytes (1 MiB)`
  throwIssues([
    { code: 'ROUTER_CONFIG_PARSE', message: 'the policy file is too large', path: [], file, accepted },
  ])
}

/** Keys that no check over several keys relies on: a fault in one of them hides no other fault. */
const independentKeys: ReadonlySet<string | number | undefined> = new Set([
  'allow_alpha',
  'aggregated',
  'prefill',
  'decode',
  'encode',
  'type',
  'package',
  'version',
  'runtime',
  'parameters',
  'quantum',
  'queue_policy',
  'slo_ms',
  'busy_worker_ratio',
  'prefill_busy_threshold',
  'prefill_busy_threshold_frac',
  'request_queue_limit_per_worker',
  'raw_isl_token_queue_limit_per_worker',
  'cached_token_queue_limit_per_worker',
])

/** Keys and types of the whole document. Sections that cannot be checked further are left out of `values`. */
function checkKeys(value: unknown): { values: Partial<FileValues>; faults: Fault[] } {
  const result = fileSchema.safeParse(value)
  if (result.success) return { values: value as FileValues, faults: [] }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return {
      values: {},
      faults: [{ path: [], message: `the file cannot be ${showValue(value)}`, value, accepted: 'a mapping' }],
    }
  }
  jsonSchema ??= inputSchemaOf(fileSchema)
  const faults = faultsOf(result.error, value, jsonSchema)
  // What was not collected may be anywhere: nothing is known to be sound.
  if (faults.length === maximumIssues) return { values: {}, faults: withoutEchoes(faults) }
  const blocking = faults.filter(({ at, path }) => {
    const isIndependent = independentKeys.has(path.at(-1)) || (path[0] === 'router' && path.length > 1)
    return at !== 'key' && !isIndependent
  })
  const broken = new Set(
    blocking.map(({ path }) => (profileKeys.includes(path[0] as never) ? 'profile' : path[0])),
  )
  const sound = Object.entries(value).filter(
    ([key]) => !broken.has(profileKeys.includes(key as never) ? 'profile' : key),
  )
  return { values: Object.fromEntries(sound) as Partial<FileValues>, faults: withoutEchoes(faults) }
}

type Sections = Omit<RouterPolicyFile, 'file'>

/** What the keys of each section mean together, in the order of the specification. */
function checkSections(
  values: Partial<FileValues>,
  isEmpty: boolean,
): { sections: Sections; faults: Fault[] } {
  const { router, models = {}, worker_selection: selection, request_classifier: classifier } = values
  const root = hasProfile(values) ? checkProfile(values as FileValues, []) : { faults: [] }
  // Lists of faults may be long: joined, never spread into a call.
  let faults: Fault[] = [...(router ? checkRouter(router) : []), ...root.faults]
  const profiles = new Map<string, QueueProfile>()
  for (const [model, values] of Object.entries(models)) {
    const path = ['models', model]
    if (model === '')
      faults.push({
        path,
        at: 'key',
        message: 'a model name must not be empty',
        value: model,
        accepted: 'the name of a model',
      })
    const checked = checkProfile(values, path)
    for (const fault of checked.faults) faults.push(fault)
    if (checked.profile !== undefined) profiles.set(model, checked.profile)
  }
  faults = faults.concat(
    mixedForms(root.profile, profiles),
    selection ? checkWorkerSelection(selection) : [],
    classifier ? checkRequestClassifier(classifier) : [],
  )
  if (isEmpty) {
    const accepted = 'at least one of router, a queue profile, models, worker_selection, request_classifier'
    faults.push({ path: [], message: 'the file defines nothing', accepted })
  }
  const sections: Sections = {
    workerSelection: selection ? toWorkerSelectionConfig(selection) : undefined,
    requestClassifier: classifier as RequestClassifierConfig | undefined,
    profile: root.profile,
    models: profiles,
    router: router as RouterSettings | undefined,
  }
  return { sections, faults }
}

/** Refuses profiles of both forms in one file, at the first that differs from the one before it. */
function mixedForms(root: QueueProfile | undefined, models: ReadonlyMap<string, QueueProfile>): Fault[] {
  const first = root ?? models.values().next().value
  for (const [model, { form }] of models) {
    if (first === undefined || form === first.form) continue
    const message = `model '${model}' has the ${form} form, the profile before it the ${first.form} form`
    return [{ path: ['models', model], at: 'key', message, accepted: 'one form for the whole file' }]
  }
  return []
}

function isEmptyFile(value: unknown): boolean {
  if (value === null) return true
  if (typeof value !== 'object' || Array.isArray(value)) return false
  return Object.entries(value).every(
    ([key, held]) => key === 'models' && Object.keys(held ?? {}).length === 0,
  )
}
