import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadServePolicy, readServeSettings, startSelectionService } from '@router/app'
import { type ServiceSessionLine, serviceSessionLine } from '../shapes/service-sessions.js'
import type { Checks } from './checks.js'
import { type NotCovered, type RawLine, type VectorFamily, parseLine } from './family.js'
import { type PlayedService, playScenario } from './service-sessions-player.js'

/** Scenarios of the selection API, each played against a fresh service over real HTTP and ZeroMQ. */
export const serviceSessionsFamily: VectorFamily = {
  name: 'service-sessions',
  claims: (baseName) => baseName === 'service-sessions',
  recognises: (line) => 'service' in line && 'steps' in line,
  notCovered,
  checkWaiting: (line) => void parseLine(serviceSessionLine, line),
  covers: 'the selection API without queues and sessions: @router/app, over real sockets',
  evaluate: (line) => void parseLine(serviceSessionLine, line),
  play: (line: RawLine, checks: Checks) =>
    playScenario(parseLine(serviceSessionLine, line), startSelection, checks),
}

/** What a scenario is about that no service does yet. */
function notCovered(line: RawLine): NotCovered | undefined {
  const { service, id, config } = line as Partial<ServiceSessionLine>
  if (service === 'indexer') return { about: 'scenarios of the indexer', needs: 'its service in apps/router' }
  if (service === 'slots')
    return { about: 'scenarios of the load tracker', needs: 'its service in apps/router' }
  const { steps } = line
  const waits = Array.isArray(steps) && steps.some((step) => Object.hasOwn(Object(step), 'background'))
  if (waits || String(id).startsWith('queue-'))
    return { about: 'scenarios of the queue', needs: 'the queue of @router/core' }
  const affinity = config?.env?.['DYN_ROUTER_SESSION_AFFINITY_TTL_SECS']
  return affinity === undefined
    ? undefined
    : { about: 'scenarios of sticky sessions', needs: 'sessions in @router/core' }
}

/** The service as the environment of the scenario has it. */
async function startSelection({ config = {} }: ServiceSessionLine): Promise<PlayedService> {
  const { env = {}, policy_yaml: policyYaml } = config
  const folder = policyYaml === undefined ? undefined : await mkdtemp(join(tmpdir(), 'vectors-policy-'))
  try {
    const path = folder === undefined ? undefined : join(folder, 'policy.yaml')
    if (path !== undefined) await writeFile(path, policyYaml!)
    const policy = await loadServePolicy({ environment: env, path })
    const settings = readServeSettings({ environment: env, policyFile: policy.policyFile })
    return await startSelectionService(settings, policy, { port: 0 })
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true })
  }
}
