import { type LoadedRouterPolicy, selectionSettings } from '@router/config'
import { workerRoles } from '@router/sdk'
import type { Finding } from '../fleet/health-causes.js'
import { shown } from './serve-setting-reader.js'
import { serveSettings } from './serve-setting-table.js'
import type { ServeSettings } from './serve-settings.js'
import type { ServeSetting } from './setting.js'

/** Settings of policies that only costs of caches and load are made of. */
const costSettings = [
  selectionSettings.overlapScoreCredit,
  selectionSettings.overlapScoreCreditDecay,
  selectionSettings.overlapScoreWeight,
  selectionSettings.prefillLoadScale,
  selectionSettings.decodeActiveRequestWeight,
  selectionSettings.hostCacheHitWeight,
  selectionSettings.diskCacheHitWeight,
  selectionSettings.temperature,
].map(({ flag }) => flag)

const sharedCacheSettings = [selectionSettings.sharedCacheType, selectionSettings.sharedCacheMultiplier].map(
  ({ flag }) => flag,
)

/**
 * Settings that are checked and do nothing: in this version, in this mode, or with these listeners (host.md 9).
 * @param hasMain the OpenAI API is served
 */
export function inertSettings(
  settings: ServeSettings,
  policy: LoadedRouterPolicy,
  hasMain = true,
): Finding[] {
  const { given, mode } = settings
  const found = new Map<string, string>()
  for (const one of Object.values<ServeSetting>(serveSettings)) {
    const said = given.get(one.flag)
    if (said === undefined || shown(said.value) === shown(one.fallback)) continue
    const why = reasonOf(one, mode, hasMain)
    if (why !== undefined) found.set(said.origin, why)
  }
  for (const flag of mode === 'kv' ? [] : costSettings) {
    const said = given.get(flag)
    if (said !== undefined) found.set(said.origin, `router mode ${mode} computes no costs`)
  }
  for (const flag of sharedCacheSettings) {
    const said = given.get(flag)
    if (said !== undefined && said.value !== 'none')
      found.set(said.origin, 'this version reads no shared cache')
  }
  const ratio = given.get(selectionSettings.encoderCudaToCpuRatio.flag)
  if (
    ratio !== undefined &&
    policy.bundle.roles.aggregated?.definition.type !== 'dynamo-device-aware-weighted'
  )
    found.set(ratio.origin, 'it belongs to the policy of mode device-aware-weighted')
  const template = given.get(serveSettings.chatTemplate.flag)
  if (template !== undefined && settings.tokenizers.size === 0)
    found.set(
      template.origin,
      `it takes the place of that of a --${serveSettings.tokenizers.flag}, and there is none`,
    )
  for (const [scope, why] of [...inertOfFile(settings, policy), ...inertRoles(policy)]) found.set(scope, why)
  return [...found].map(([scope, why]) => ({
    code: 'inert_setting',
    scope,
    detail: `${scope} does nothing: ${why}`,
  }))
}

function reasonOf({ inert, needs }: ServeSetting, mode: string, hasMain: boolean): string | undefined {
  if (inert !== undefined) return inert
  if (needs === 'kv' && mode !== 'kv') return `router mode is ${mode}`
  return needs === 'main' && !hasMain ? 'there is no OpenAI API without a main listener' : undefined
}

function inertOfFile(
  { mode }: ServeSettings,
  { policyFile, notYetActive }: LoadedRouterPolicy,
): [string, string][] {
  const { router = {} } = policyFile ?? {}
  const { router_replica_sync: replicas, shared_cache_type: sharedCache } = router
  return [
    ...(replicas === true
      ? [['router.router_replica_sync', 'this version has no replicas'] as [string, string]]
      : []),
    ...(sharedCache === 'hicache'
      ? [['router.shared_cache_type', 'this version reads no shared cache'] as [string, string]]
      : []),
    ...(mode === 'kv'
      ? []
      : Object.keys(router).map((key): [string, string] => [`router.${key}`, `router mode is ${mode}`])),
    // Those of the `router` section act in services.
    ...notYetActive
      .filter(({ path }) => path[0] !== 'router')
      .map(({ path, message }): [string, string] => [path.join('.'), message]),
  ]
}

/** Policies of roles that no request is served by. */
function inertRoles({ roles }: LoadedRouterPolicy): [string, string][] {
  return workerRoles.flatMap((role): [string, string][] => {
    const { name, origin } = roles[role]
    const isOwn = role !== 'aggregated' && origin !== 'built-in' && origin !== roles.aggregated.origin
    return isOwn && name !== 'default' ? [[origin, `this version has no requests for ${role} workers`]] : []
  })
}
