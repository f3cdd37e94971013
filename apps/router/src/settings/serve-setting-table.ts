import { idleSettings } from './idle-settings.js'
import { kvSettings } from './kv-settings.js'
import { listenerSettings } from './listener-settings.js'
import { requestSettings } from './request-settings.js'
import { routingSettings } from './routing-settings.js'
import type { ServeSetting } from './setting.js'

/** Every setting of `router serve` (host.md 16) but those of workers and of policies. */
export const serveSettings = {
  ...listenerSettings,
  ...routingSettings,
  ...kvSettings,
  ...requestSettings,
  ...idleSettings,
}

/** The same by theme, in the order of the help. */
export const settingGroups: readonly {
  readonly title: string
  readonly settings: readonly ServeSetting[]
}[] = [
  { title: 'Listeners', settings: Object.values(listenerSettings) },
  { title: 'Routing', settings: Object.values(routingSettings) },
  { title: 'Caches and load of engines, in mode kv', settings: Object.values(kvSettings) },
  { title: 'Requests of the OpenAI API', settings: Object.values(requestSettings) },
  { title: 'Accepted and checked, without effect in this version', settings: Object.values(idleSettings) },
]
