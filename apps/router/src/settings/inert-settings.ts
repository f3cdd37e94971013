import type { LoadedRouterPolicy } from '@router/config'
import type { Finding } from '../fleet/health-causes.js'
import type { ServeSettings } from './serve-settings.js'

/** Settings that are checked and do nothing yet. */
export function inertSettings(
  { queueThreshold }: ServeSettings,
  { notYetActive }: LoadedRouterPolicy,
): Finding[] {
  const inert = (scope: string, detail: string): Finding => ({ code: 'inert_setting', scope, detail })
  const threshold = queueThreshold === undefined ? [] : ['router-queue-threshold']
  return [
    ...threshold.map((flag) => inert(flag, `${flag} does not act yet: nothing queues`)),
    // Those of the `router` section act in services.
    ...notYetActive
      .filter(({ path }) => path[0] !== 'router')
      .map(({ path, message }) => inert(path.join('.'), message)),
  ]
}
