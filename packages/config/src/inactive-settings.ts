import type { ConfigPath } from './issues.js'
import type { RouterPolicyFile, RouterSettings } from './policy-file.js'

/** A setting that is checked and returned, but that no part of the router acts on yet. */
export interface InactiveSetting {
  readonly path: ConfigPath
  readonly message: string
}

/** Keys of `router` that already decide something. */
const activeRouterKeys: ReadonlySet<string> = new Set<keyof RouterSettings>([
  'host_cache_hit_weight',
  'disk_cache_hit_weight',
  'shared_cache_type',
  // Never has an effect; it has a warning of its own.
  'router_event_threads',
])

/** What a file says that hosts must report as not acted upon. */
export function inactiveSettings({
  profile,
  models,
  router,
  requestClassifier,
}: RouterPolicyFile): InactiveSetting[] {
  const inactive = (path: ConfigPath, what: string): InactiveSetting => ({
    path,
    message: `${what} not act yet`,
  })
  return [
    ...Object.keys(router ?? {})
      .filter((key) => !activeRouterKeys.has(key))
      .map((key) => inactive(['router', key], `router.${key} does`)),
    ...(profile === undefined ? [] : [inactive(['policy_classes'], 'the queue classes at the root do')]),
    ...[...models.keys()].map((model) =>
      inactive(['models', model], `the queue classes of model '${model}' do`),
    ),
    ...(requestClassifier === undefined ? [] : [inactive(['request_classifier'], 'request_classifier does')]),
  ]
}
