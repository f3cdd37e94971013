import { type LoadedRouterPolicy, loadRouterPolicy } from '@router/config'
import { shippedCatalog } from './catalog.js'
import { serveSettings } from './settings/serve-setting-table.js'
import { workerVariables } from './workers/sources/read-worker-sources.js'

/** Where a policy is read from. */
export interface PolicySources {
  /** Policy file; absent = what a variable says, which may be none. */
  readonly path?: string | undefined
  readonly folder?: string | undefined
  readonly environment?: Readonly<Record<string, string | undefined>>
}

/** The policy of a service, from the shipped types and those that its file names. Errors: those of `loadRouterPolicy`. */
export function loadServePolicy({
  path,
  folder,
  environment = {},
}: PolicySources): Promise<LoadedRouterPolicy> {
  const own = new Set<string>([
    ...workerVariables,
    ...Object.values(serveSettings).flatMap(({ variable, alias }) => [variable, alias ?? variable]),
  ])
  // Variables that the services read are none that the policy does not know.
  const others = Object.fromEntries(Object.entries(environment).filter(([name]) => !own.has(name)))
  return loadRouterPolicy({
    catalog: shippedCatalog(),
    environment: others,
    ...(path === undefined ? {} : { path }),
    ...(folder === undefined ? {} : { folder }),
  })
}
