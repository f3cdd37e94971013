import type { Fleet } from '../../src/fleet/fleet.js'
import { HealthCauses } from '../../src/fleet/health-causes.js'
import { RouterMetrics, type RouterMetricsOptions } from '../../src/metrics/router-metrics.js'
import type { RequestFacts } from '../../src/proxy/request-facts.js'
import { testFleet } from '../fleet/support.js'

/** A metric as a scrape shows it. */
export interface Family {
  readonly type: string
  readonly help: string
  /** Label names of each child, `router_id` and `le` left out. */
  readonly labels: Set<string>
  /** Values by series, `name{labels}` as written, `router_id` left out. */
  readonly series: Map<string, number>
}

/** Reads the text of a scrape. */
function parsed(text: string): Map<string, Family> {
  const families = new Map<string, Family>()
  let current: Family | undefined
  for (const line of text.split('\n')) {
    const [, name, help] = /^# HELP (\S+) (.*)$/.exec(line) ?? []
    if (name !== undefined) {
      current = { type: '', help: help!, labels: new Set(), series: new Map() }
      families.set(name, current)
      continue
    }
    const [, , type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? []
    if (type !== undefined) Object.assign(current!, { type })
    else if (line !== '') addSeries(current!, line)
  }
  return families
}

function addSeries({ labels, series }: Family, line: string): void {
  const [, name, inner = '', value] = /^([^{\s]+)(?:\{(.*)\})? (\S+)$/.exec(line)!
  const own = [...inner.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].filter(([, label]) => label !== 'router_id')
  labels.add(
    own
      .map(([, label]) => label)
      .filter((label) => label !== 'le')
      .join(','),
  )
  const written = own.map(([pair]) => pair).join(',')
  series.set(written === '' ? name! : `${name}{${written}}`, Number(value))
}

/** Metrics of a fleet from now on. */
export function measured(fleet: Fleet, options: Partial<RouterMetricsOptions> = {}) {
  const causes = new HealthCauses()
  const metrics = new RouterMetrics({ fleet, causes, mode: 'kv', routerId: 'r1', ...options })
  const families = async () => parsed(await metrics.text())
  /** Value of a series. */
  const value = async (series: string): Promise<number | undefined> => {
    const name = series.split('{')[0]!
    const all = await families()
    return (all.get(name) ?? all.get(name.replace(/_(?:bucket|sum|count)$/, '')))?.series.get(series)
  }
  return { causes, metrics, families, value }
}

/** A fleet with metrics. */
export function measuredFleet(
  settings: Parameters<typeof testFleet>[0] = { usesKvEvents: false },
  options: Partial<RouterMetricsOptions> = {},
) {
  const one = testFleet(settings)
  return { ...one, ...measured(one.fleet, { nowMs: () => one.clock.ms, ...options }) }
}

/** A request that was answered as a stream of five tokens. */
export function factsOf(more: Partial<RequestFacts> = {}): RequestFacts {
  return {
    requestId: 'r',
    path: '/v1/chat/completions',
    ending: 'answered',
    status: 200,
    errorCode: undefined,
    wantsStream: true,
    model: 'default',
    workerId: 1n,
    dpRank: 0,
    exactness: 'exact',
    cause: undefined,
    wantsTokenizer: false,
    promptTokens: 100,
    isEstimated: false,
    predictedTokens: 0,
    blockSize: 4,
    usage: { promptTokens: 100, cachedTokens: 40, completionTokens: 5 },
    contentChunks: 5,
    firstByteMs: 200,
    totalMs: 600,
    attempts: 1,
    freshTries: 0,
    ignoredHints: [],
    ...more,
  }
}
