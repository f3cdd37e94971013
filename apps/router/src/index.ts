export { Fleet, type FleetOptions } from './fleet/fleet.js'
export type {
  ExplicitReservation,
  FleetPrompt,
  FleetRequest,
  OverlapReport,
  RequestTerms,
  Reservation,
  Selection,
} from './fleet/fleet-request.js'
export type { FleetSettings } from './fleet/fleet-settings.js'
export { loadServePolicy } from './serve-policy.js'
export { type ServeSettings, readServeSettings } from './settings/serve-settings.js'
export { createFleet } from './service/create-fleet.js'
export { type RouterOptions, type RunningRouter, startRouter } from './service/router-service.js'
export { readWorkerSources } from './workers/sources/read-worker-sources.js'
