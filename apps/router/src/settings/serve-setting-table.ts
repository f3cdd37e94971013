import { routingSettings } from './routing-settings.js'
import { serverSettings } from './server-settings.js'

/** Every setting of `router serve` (host.md 16) but those of workers and of policies. */
export const serveSettings = { ...routingSettings, ...serverSettings }
