import {
  type LoadedRouterPolicy,
  type RoleChoice,
  loadRouterPolicy,
  selectionSettings,
  suggest,
} from '@router/config'
import { WorkerTable } from '@router/core'
import {
  ConfigError,
  type PolicyBundle,
  type PolicyCatalog,
  type PolicyDefinition,
  type ResolvedPolicy,
  type RouterErrorCode,
  type WorkerRole,
  workerRoles,
} from '@router/sdk'
import { buildSelector } from './build-selector.js'
import { shippedCatalog } from './catalog.js'
import { type GivenSetting, type ServeFlags, ServeSettingReader } from './settings/serve-setting-reader.js'
import { serveSettings } from './settings/serve-setting-table.js'
import type { RouterMode } from './settings/serve-settings.js'

/** Where a policy is read from. */
export interface PolicySources {
  /** Policy file; absent = what a flag or a variable says, which may be none. */
  readonly path?: string | undefined
  readonly folder?: string | undefined
  /** Those of `readServeSettings`, without dashes; others than those of policies are for it. */
  readonly flags?: ServeFlags
  readonly environment?: Readonly<Record<string, string | undefined>>
}

/** Types behind the modes that are no policy of a file (host.md 9). */
const modeTypes: Readonly<Record<Exclude<RouterMode, 'kv'>, string>> = {
  'round-robin': 'dynamo-round-robin',
  random: 'dynamo-random',
  'power-of-two': 'dynamo-power-of-two-choices',
  'least-loaded': 'dynamo-least-loaded',
  'device-aware-weighted': 'dynamo-device-aware-weighted',
  direct: 'dynamo-direct',
}

/**
 * The policy of a service, from the shipped types and those that its file names: what the file says, or `--policy`, or the policy of a
 * `--router-mode`. Faults of the other settings are for `readServeSettings`. Errors: those of `loadRouterPolicy`, `ConfigError` for a mode
 * or policy that is unknown or contradicts the rest, or that cannot be built, which is tried for each role.
 */
export async function loadServePolicy(sources: PolicySources): Promise<LoadedRouterPolicy> {
  const loaded = await chosenPolicy(sources)
  const { bundle, routerDefaults } = loaded
  const table = new WorkerTable()
  for (const role of workerRoles) {
    const policy = bundle.roles[role]
    if (policy === undefined) continue
    const options = { table, policy, role, routerDefaults, entropy: () => 0n, nowMs: () => 0 }
    buildSelector(loaded, options).dispose()
  }
  return loaded
}

async function chosenPolicy({
  path,
  folder,
  flags = {},
  environment = {},
}: PolicySources): Promise<LoadedRouterPolicy> {
  const catalog = shippedCatalog()
  const own = Object.values(selectionSettings)
  const loaded = await loadRouterPolicy({
    catalog,
    flags: only(
      flags,
      own.map(({ flag }) => flag),
    ) as Readonly<Record<string, string | undefined>>,
    environment: only(
      environment,
      own.flatMap(({ variable, aliases }) => [variable, ...aliases]),
    ),
    ...(path === undefined ? {} : { path }),
    ...(folder === undefined ? {} : { folder }),
  })
  const { given } = new ServeSettingReader(flags, environment)
  const mode = given.get(serveSettings.mode.flag)
  const named = given.get(serveSettings.policy.flag)
  const chosen = withLoadAware(loaded, given.get(serveSettings.loadAware.flag)?.value === true)
  if (mode !== undefined && mode.value !== 'kv') {
    const rivals = [
      named?.origin,
      roleOrigin(loaded),
      loaded.policyFile?.workerSelection && 'worker_selection of the file',
    ]
    refuseRivals(mode, rivals, 'kv, or nothing else that names a policy')
    return served(
      chosen,
      mode.origin,
      typeInstance(catalog, modeTypes[mode.value as Exclude<RouterMode, 'kv'>]),
    )
  }
  if (named === undefined) return chosen
  refuseRivals(named, [roleOrigin(loaded)], 'one of them')
  return served(chosen, named.origin, namedInstance(chosen.bundle, catalog, named))
}

/** The flag or variable that decides for aggregated workers. */
function roleOrigin({ roles }: LoadedRouterPolicy): string | undefined {
  const { origin } = roles.aggregated
  return origin === 'built-in' || origin.startsWith('worker_selection') ? undefined : origin
}

function refuseRivals(said: GivenSetting, rivals: readonly (string | undefined)[], accepted: string): void {
  const rival = rivals.find((one) => one !== undefined)
  if (rival !== undefined)
    throw refusal('ROUTER_CONFIG_INVALID', said, `${rival} names a policy as well`, accepted)
}

/** A preset that is deprecated: load alone decides. */
function withLoadAware(loaded: LoadedRouterPolicy, isOn: boolean): LoadedRouterPolicy {
  if (!isOn) return loaded
  const routerDefaults = { ...loaded.routerDefaults, overlap_score_credit: 0, shared_cache_multiplier: 0 }
  return { ...loaded, routerDefaults }
}

/** A policy that serves every role, as `router_worker_selection_policy` does. */
function served(loaded: LoadedRouterPolicy, origin: string, policy: ResolvedPolicy): LoadedRouterPolicy {
  const { name } = policy
  const all = <T>(value: T): Record<WorkerRole, T> =>
    Object.fromEntries(workerRoles.map((role) => [role, value])) as Record<WorkerRole, T>
  const { instances } = loaded.bundle
  const isKnown = name === 'default' || instances.includes(policy)
  const bundle: PolicyBundle = {
    ...loaded.bundle,
    roles: all(policy),
    instances: isKnown ? instances : [...instances, policy],
    selectsCustomInstance: name !== 'default',
  }
  return { ...loaded, bundle, roles: all<RoleChoice>({ name, origin }) }
}

/** An instance of the file, else a type with its defaults. */
function namedInstance(
  { instances }: PolicyBundle,
  catalog: PolicyCatalog,
  said: GivenSetting,
): ResolvedPolicy {
  const name = String(said.value)
  const instance = instances.find((one) => one.name === name)
  if (instance !== undefined) return instance
  if (name === 'default') return catalog.resolve({}).roles.aggregated!
  if (catalog.types().includes(name)) return typeInstance(catalog, name)
  const names = ['default', ...instances.map((one) => one.name), ...catalog.types()]
  const near = suggest(name, names)
  const hint = near === undefined ? '' : `; did you mean '${near}'?`
  throw refusal('ROUTER_POLICY_INSTANCE_UNKNOWN', said, `there is no such policy${hint}`, names.join(', '))
}

function typeInstance(catalog: PolicyCatalog, type: string): ResolvedPolicy {
  const { roles }: PolicyDefinition = catalog.find(type)
  const instances = [{ name: type, type }]
  return catalog.resolveForRole({ instances, [roles[0]!]: type }, roles[0]!)
}

function refusal(
  code: RouterErrorCode,
  { origin, value }: GivenSetting,
  what: string,
  accepted: string,
): ConfigError {
  const message = `${origin}=${String(value)}: ${what}; accepted: ${accepted}`
  return new ConfigError(code, message, [{ code, message, path: [origin], value, accepted }])
}

function only<T>(texts: Readonly<Record<string, T>>, names: readonly string[]): Record<string, T> {
  return Object.fromEntries(Object.entries(texts).filter(([name]) => names.includes(name)))
}
