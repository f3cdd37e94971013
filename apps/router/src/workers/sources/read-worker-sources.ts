import { resolve } from 'node:path'
import { ConfigError, type ConfigIssue } from '@router/sdk'
import type { WorkerSources } from './worker-discovery.js'
import type { WorkerEntry } from './worker-entry.js'
import { parseWorkerDns, parseWorkerFlag, parseWorkerUrls } from './worker-flags.js'

/** What the command line and the environment say of workers. */
export interface WorkerTexts {
  /** `--worker`, each time that it is given. */
  readonly worker?: readonly string[] | undefined
  /** `--worker-urls`; else `ROUTER_WORKER_URLS`. */
  readonly workerUrls?: string | undefined
  /** `--worker-file`; else `ROUTER_WORKER_FILE`. */
  readonly workerFile?: string | undefined
  /** `--worker-dns`, each time that it is given; else `ROUTER_WORKER_DNS`, a comma list. */
  readonly workerDns?: readonly string[] | undefined
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined
  /** Folder that paths are relative to. Default: that of the process. */
  readonly folder?: string | undefined
}

/** Variables that workers are read from: `ROUTER_WORKER` holds one worker, with its keys. */
export const workerVariables = [
  'ROUTER_WORKER',
  'ROUTER_WORKER_URLS',
  'ROUTER_WORKER_FILE',
  'ROUTER_WORKER_DNS',
] as const

/** The sources that flags name, else variables, one kind at a time. Error: `ConfigError` with every fault. */
export function readWorkerSources({ environment = {}, folder = '', ...flags }: WorkerTexts): WorkerSources {
  const issues: ConfigIssue[] = []
  const collect = <T>(texts: readonly string[], parse: (text: string) => T): T[] =>
    texts.flatMap((text) => {
      try {
        return [parse(text)]
      } catch (error) {
        if (!ConfigError.isInstance(error)) throw error
        issues.push(...error.issues)
        return []
      }
    })
  const [worker, urls, file, dns] = workerVariables.map((name) => environment[name]?.trim() || undefined)
  const from = (flag: string, given: unknown, variable: string): string =>
    given === undefined ? variable : flag
  const entries = [
    ...collect(flags.worker ?? listOf(worker), (text) =>
      parseWorkerFlag(text, from('--worker', flags.worker, 'ROUTER_WORKER')),
    ),
    ...collect(listOf(flags.workerUrls ?? urls), (text) =>
      parseWorkerUrls(text, from('--worker-urls', flags.workerUrls, 'ROUTER_WORKER_URLS')),
    ).flat(),
  ]
  const names = collect(flags.workerDns ?? dns?.split(',') ?? [], (text) =>
    parseWorkerDns(text, from('--worker-dns', flags.workerDns, 'ROUTER_WORKER_DNS')),
  )
  issues.push(...repeated(entries))
  if (issues.length > 0)
    throw new ConfigError('ROUTER_CONFIG_INVALID', issues.map(({ message }) => message).join('\n'), issues)
  const path = flags.workerFile ?? file
  return {
    flags: entries.map((entry) => withKeyPath(entry, folder)),
    file: path === undefined ? undefined : resolve(folder, path),
    dns: names,
  }
}

function repeated(entries: readonly WorkerEntry[]): ConfigIssue[] {
  const ids = new Set<bigint>()
  return entries.flatMap(({ registration: { workerId, endpoint } }): ConfigIssue[] => {
    if (!ids.has(workerId)) {
      ids.add(workerId)
      return []
    }
    const message = `--worker: ${endpoint} has the id of another worker, ${workerId}; accepted: each worker once`
    return [{ code: 'ROUTER_CONFIG_INVALID', message, path: ['--worker'], value: endpoint }]
  })
}

function withKeyPath(entry: WorkerEntry, folder: string): WorkerEntry {
  const { apiKeyFile } = entry
  return apiKeyFile === undefined ? entry : { ...entry, apiKeyFile: resolve(folder, apiKeyFile) }
}

function listOf(text: string | undefined): readonly string[] {
  return text === undefined ? [] : [text]
}
