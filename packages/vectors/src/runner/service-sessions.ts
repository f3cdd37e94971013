import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { loadServePolicy, readServeSettings, startRouter } from '@router/app'
import { type ServiceSessionLine, serviceSessionLine } from '../shapes/service-sessions.js'
import { type NotCovered, type VectorFamily, parseLine, type RawLine } from './family.js'
import { startGroup } from './router-process.js'
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
  play: (line, checks, { routerCommand }) =>
    playScenario(
      parseLine(serviceSessionLine, line),
      routerCommand === undefined ? startHere : (scenario) => startProcess(routerCommand, scenario),
      checks,
    ),
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

/** The service in this process, as the environment of the scenario has it. */
function startHere({ config = {} }: ServiceSessionLine): Promise<PlayedService> {
  const { env: environment = {}, policy_yaml: policyYaml } = config
  return withPolicyFile(policyYaml, async (path) => {
    const policy = await loadServePolicy({ environment, path })
    const settings = readServeSettings({ environment, policyFile: policy.policyFile })
    return startRouter({ settings, policy, ports: { selection: 0 } })
  })
}

/** The service as a process of its own. */
function startProcess(
  [program = '', ...first]: readonly string[],
  { config = {} }: ServiceSessionLine,
): Promise<PlayedService> {
  return withPolicyFile(config.policy_yaml, async (path) => {
    const file = path === undefined ? {} : { DYN_ROUTER_POLICY_CONFIG: path }
    const env = { PATH: process.env['PATH'], ROUTER_DRAIN_GRACE_SECS: '0', ...config.env, ...file }
    const { child, ended, end } = startGroup(program, [...first, 'serve', '--selection-port', '0'], env)
    let output = ''
    const url = await new Promise<string>((resolve, reject) => {
      child.on('error', reject)
      void ended.then((how) => reject(new Error(`the router ended with ${how}: ${output}`)))
      const read = (chunk: Buffer): void => {
        output += String(chunk)
        const [, found] = /selection API on (\S+)/.exec(output) ?? []
        if (found !== undefined) resolve(found)
      }
      child.stdout.on('data', read)
      child.stderr.on('data', read)
    })
    const close = async (): Promise<void> => {
      end()
      const how = await ended
      // Those that only start a router, as npx does, end by the signal.
      if (how !== 0 && how !== 'SIGTERM' && how !== 143)
        throw new Error(`the router ended with ${how}: ${output}`)
    }
    return { url, close }
  })
}

async function withPolicyFile<T>(
  text: string | undefined,
  use: (path: string | undefined) => Promise<T>,
): Promise<T> {
  if (text === undefined) return use(undefined)
  const folder = await mkdtemp(join(tmpdir(), 'vectors-policy-'))
  try {
    const path = join(folder, 'policy.yaml')
    await writeFile(path, text)
    return await use(path)
  } finally {
    await rm(folder, { recursive: true })
  }
}
