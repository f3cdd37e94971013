import { type AllowedHosts, EndpointRules } from '../fleet/endpoint-rules.js'
import type { FleetWarning } from '../fleet/fleet-worker.js'
import type { Fleet } from '../fleet/fleet.js'
import type { Finding } from '../fleet/health-causes.js'
import { engineClient } from './engine-client.js'
import { learnedFindings } from './learning/learned-findings.js'
import { WorkerDiscovery, type WorkerSources } from './sources/worker-discovery.js'
import { type Timers, processTimers } from './timers.js'
import { type KeeperSettings, WorkerKeeper } from './worker-keeper.js'

export interface StartWorkersOptions {
  /** With the setting `learnsFacts`, so that records wait for what engines tell. */
  readonly fleet: Fleet
  readonly sources: WorkerSources
  /** Hosts that API workers may have. */
  readonly allowedHosts: AllowedHosts
  /** The clock of the fleet. Default: that of the process. */
  readonly nowMs?: (() => number) | undefined
  readonly settings?: KeeperSettings | undefined
  readonly onWarning?: ((warning: FleetWarning) => void) | undefined
}

/** Workers that are looked after. */
export interface RunningWorkers {
  /** Tells of requests, and asks whether they may go out: what the relay calls its watch. */
  readonly keeper: WorkerKeeper
  /** Bearer key of a worker's engine; absent = none was given. */
  readonly apiKeyOf: (workerId: bigint) => string | undefined
  /** What is not well with sources, and doubtful about engines. */
  findings(): Finding[]
  /** Ends every probe and every look at a source. To be called before the fleet is disposed of. */
  close(): void
}

/** Puts the workers of the sources into a fleet and looks after all of its workers. Error: `ConfigError` for a source that cannot be read. */
export async function startWorkers(options: StartWorkersOptions): Promise<RunningWorkers> {
  const { fleet, sources, allowedHosts, nowMs = () => performance.now(), settings, onWarning } = options
  const { workers } = fleet
  const rules = new EndpointRules(allowedHosts)
  const timers: Timers = processTimers(nowMs)
  const discovery = new WorkerDiscovery({ workers, timers, sources })
  const apiKeyOf = (workerId: bigint): string | undefined => discovery.apiKeyOf(workerId)
  const keeper = new WorkerKeeper({
    workers,
    timers,
    settings,
    onWarning,
    apiKeyOf,
    ask: engineClient(rules),
  })
  const close = (): void => {
    discovery.close()
    keeper.close()
  }
  try {
    await discovery.start()
  } catch (error) {
    close()
    throw error
  }
  return {
    keeper,
    apiKeyOf,
    findings: () => [...discovery.findings(), ...learnedFindings(workers)],
    close,
  }
}
