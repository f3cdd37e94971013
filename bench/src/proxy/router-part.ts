import { loadServePolicy, readServeSettings, readWorkerSources, startRouter } from '@router/app'
import type { RunningPart } from './part-process.js'

/** What the router tells when it runs. */
export interface RouterFacts {
  readonly url: string
  readonly selectionUrl: string
}

export interface RouterPartOptions {
  /** As `--worker` takes them. */
  readonly workers: readonly string[]
}

/** A router with its default policy and settings. */
export async function startRouterPart({ workers }: RouterPartOptions): Promise<RunningPart> {
  const policy = await loadServePolicy({ path: undefined, folder: '', environment: {} })
  const { url, selectionUrl } = await startRouter({
    settings: readServeSettings({ policyFile: policy.policyFile }),
    policy,
    sources: readWorkerSources({ worker: workers }),
    ports: { main: 0, selection: 0 },
  })
  return { facts: { url, selectionUrl: selectionUrl! } satisfies RouterFacts }
}
