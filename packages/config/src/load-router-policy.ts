import {
  CatalogError,
  type ConfigIssue,
  PolicyCatalog,
  type PolicyBundle,
  type RouterDefaults,
  type VersionSelector,
  type WorkerRole,
  workerRoles,
} from '@router/sdk'
import semver from 'semver'
import { type InactiveSetting, inactiveSettings } from './inactive-settings.js'
import { type ConfigPath, throwIssues, toIssue } from './issues.js'
import { folderOf, locatePath, readTextFile } from './node-edge.js'
import { type ParsedPolicyFile, parsePolicyFile } from './parse-router-policy.js'
import type { RouterPolicyFile } from './policy-file.js'
import { type PolicyPackage, loadPolicyPackage } from './policy-packages.js'
import { resolveClassifier, resolvePolicies } from './resolve-policies.js'
import { type RoleChoice, selectRoles } from './role-selection.js'
import { readRouterDefaults } from './router-defaults.js'
import { type ConfigWarning, type Environment, type FlagTexts, SettingReader } from './setting-reader.js'
import { selectionSettings } from './settings.js'
import type { SourcePosition } from './yaml-source.js'

/** Highest version in an npm range. */
export const selectVersion: VersionSelector = (versions, range) => semver.maxSatisfying(versions, range)

/** A catalog that understands npm version ranges. */
export function createPolicyCatalog(): PolicyCatalog {
  return new PolicyCatalog({ selectVersion })
}

export interface LoadOptions {
  /** Types that the configuration may name; packages that it names are added. Make it with `createPolicyCatalog`. */
  readonly catalog: PolicyCatalog
  /** Policy file; absent = what `router-policy-config` of flags or environment says, which may be no file. */
  readonly path?: string
  /** Folder that relative paths start from, whoever gave them. Default: the working directory. */
  readonly folder?: string
  /** Text of the file instead of reading it; `path` then only names it and its folder. */
  readonly text?: string
  readonly flags?: FlagTexts
  /** Usually `process.env`; absent = no variables. */
  readonly environment?: Environment
  /** Roles of this host; a role that selects an instance and is not among them gets a warning. Absent = all. */
  readonly servedRoles?: readonly WorkerRole[]
  /** Whether the host runs request classifiers; without, a `request_classifier` is refused. Default false. */
  readonly supportsClassifier?: boolean
}

/** A configuration, checked and resolved. */
export interface LoadedRouterPolicy {
  readonly bundle: PolicyBundle
  readonly routerDefaults: RouterDefaults
  /** `undefined` without a file. */
  readonly policyFile: RouterPolicyFile | undefined
  /** Which instance serves each role, and what decided it. */
  readonly roles: Readonly<Record<WorkerRole, RoleChoice>>
  /** Packages named in the file, in its order; what they provide is in the catalog. */
  readonly packages: readonly PolicyPackage[]
  /** To print once each. */
  readonly warnings: readonly ConfigWarning[]
  /** To report as not acted upon. */
  readonly notYetActive: readonly InactiveSetting[]
  /** Where the file has something; `undefined` without a file. */
  readonly locate: (path: ConfigPath) => SourcePosition | undefined
}

/**
 * Reads, checks and resolves the whole configuration. Stops at the first stage with a fault and throws one `ConfigError` with all
 * issues of that stage: reading, parsing, keys and values, flags and environment, packages, instances, roles, classifier.
 */
export async function loadRouterPolicy(options: LoadOptions): Promise<LoadedRouterPolicy> {
  const { catalog, flags = {}, environment = {} } = options
  const path = options.path ?? (options.text === undefined ? configuredPath(flags, environment) : undefined)
  const parsed = await readPolicy(path, options)
  const policyFile = parsed?.policyFile

  const reader = new SettingReader(flags, environment)
  reader.read(selectionSettings.policyConfig)
  const roles = selectRoles(reader, policyFile?.workerSelection)
  const routerDefaults = readRouterDefaults(reader, policyFile?.router)
  throwIssues(reader.issues)

  const packages =
    parsed === undefined ? [] : await loadPackages(catalog, parsed, folderOf(path, options.folder))
  const policies = resolvePolicies(catalog, policyFile?.workerSelection ?? {}, roles, parsed?.source)
  const requestClassifier = loadClassifier(catalog, parsed, options.supportsClassifier ?? false)
  const bundle = { ...policies, requestClassifier }
  const warnings = [
    ...reader.warnings,
    ...fileWarnings(policyFile),
    ...roleWarnings(roles, options.servedRoles ?? workerRoles),
  ]
  const notYetActive = policyFile === undefined ? [] : inactiveSettings(policyFile)
  const locate = (place: ConfigPath): SourcePosition | undefined => parsed?.source.locate(place)
  return { bundle, routerDefaults, policyFile, roles, packages, warnings, notYetActive, locate }
}

function configuredPath(flags: FlagTexts, environment: Environment): string | undefined {
  const reader = new SettingReader({}, environment)
  const flag = flags[selectionSettings.policyConfig.flag]?.trim()
  const given = reader.read(selectionSettings.policyConfig)
  throwIssues(reader.issues)
  return flag === undefined || flag === '' ? (given?.value as string | undefined) : flag
}

async function readPolicy(
  path: string | undefined,
  { text, folder }: Pick<LoadOptions, 'text' | 'folder'>,
): Promise<ParsedPolicyFile | undefined> {
  if (path === undefined && text === undefined) return undefined
  return parsePolicyFile(
    text ?? (await readTextFile(locatePath(path!, folder))),
    path ?? 'router-policy.yaml',
  )
}

/** Imports each package once, in file order. */
async function loadPackages(
  catalog: PolicyCatalog,
  { policyFile, source }: ParsedPolicyFile,
  folder: string,
): Promise<PolicyPackage[]> {
  const places = new Map<string, ConfigPath>()
  for (const [index, { package: specifier }] of (policyFile.workerSelection?.instances ?? []).entries()) {
    if (specifier !== undefined && !places.has(specifier))
      places.set(specifier, ['worker_selection', 'instances', index, 'package'])
  }
  const classifierPackage = policyFile.requestClassifier?.package
  if (classifierPackage !== undefined && !places.has(classifierPackage))
    places.set(classifierPackage, ['request_classifier', 'package'])

  const packages: PolicyPackage[] = []
  const issues: ConfigIssue[] = []
  let firstCause: unknown
  for (const [specifier, path] of places) {
    try {
      packages.push(await loadPolicyPackage(catalog, specifier, folder))
    } catch (error) {
      if (!CatalogError.isInstance(error)) throw error
      firstCause ??= error
      const accepted = isOfHost(catalog, error) ? hostProvides : undefined
      issues.push(
        toIssue({ code: error.code, path, message: error.message, value: specifier, accepted }, source),
      )
    }
  }
  throwIssues(issues, undefined, firstCause)
  return packages
}

const hostProvides = 'the host already provides it: leave `package` out'

/** Whether a package was refused for a type that the host has registered. */
function isOfHost(catalog: PolicyCatalog, { code, details }: CatalogError): boolean {
  const name = details['name']
  if (code !== 'ROUTER_POLICY_TYPE_DUPLICATE' || typeof name !== 'string') return false
  const isFound = (find: () => unknown): boolean => {
    try {
      return find() !== undefined
    } catch {
      return false
    }
  }
  return (
    catalog.types().includes(name) ||
    isFound(() => catalog.findClassifier(name)) ||
    isFound(() => catalog.findKvHintPolicy(name))
  )
}

function loadClassifier(
  catalog: PolicyCatalog,
  parsed: ParsedPolicyFile | undefined,
  isSupported: boolean,
): PolicyBundle['requestClassifier'] {
  const config = parsed?.policyFile.requestClassifier
  if (parsed === undefined || config === undefined) return undefined
  if (isSupported) return resolveClassifier(catalog, config, parsed.source)
  const message = 'this router runs no request classifiers'
  const accepted = 'a file without request_classifier'
  throwIssues([toIssue({ path: ['request_classifier'], at: 'key', message, accepted }, parsed.source)])
  return undefined
}

function fileWarnings(policyFile: RouterPolicyFile | undefined): ConfigWarning[] {
  if (policyFile?.router?.router_event_threads === undefined) return []
  return [
    {
      code: 'no_effect',
      message: 'router.router_event_threads has no effect: events are handled on one thread',
    },
  ]
}

function roleWarnings(
  roles: Readonly<Record<WorkerRole, RoleChoice>>,
  served: readonly WorkerRole[],
): ConfigWarning[] {
  return workerRoles
    .filter((role) => roles[role].name !== 'default' && !served.includes(role))
    .map((role) => {
      const { name, origin } = roles[role]
      return {
        code: 'role_not_served',
        message: `${origin} selects '${name}' for role ${role}, which this host does not serve`,
      }
    })
}
