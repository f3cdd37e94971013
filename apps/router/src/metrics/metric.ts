import { type Metric as PrometheusMetric, Registry } from 'prom-client'
import type { Distribution } from './distribution.js'

/** Values of labels by name. */
export type Labels = Readonly<Record<string, string>>

/** One child of a metric. */
export interface Child<Value = number> {
  readonly labels: Labels
  readonly value: Value
}

interface Described {
  /** Without prefix. */
  readonly name: string
  readonly help: string
  /** Names of labels; every child has exactly these. */
  readonly labels: readonly string[]
}

/** A metric that is asked for its children when somebody scrapes: until then it costs nothing. */
export type Metric =
  | (Described & { readonly type: 'counter' | 'gauge'; readonly read: () => readonly Child[] })
  | (Described & { readonly type: 'histogram'; readonly read: () => readonly Child<Distribution>[] })

/** A metric without labels. */
export function single(
  type: 'counter' | 'gauge',
  name: string,
  help: string,
  read: () => number | undefined,
): Metric {
  const children = (): Child[] => {
    const value = read()
    return value === undefined ? [] : [{ labels: {}, value }]
  }
  return { type, name, help, labels: [], read: children }
}

/** A metric whose only label has these values. */
export function byLabel(
  type: 'counter' | 'gauge',
  name: string,
  label: string,
  help: string,
  read: () => Iterable<readonly [value: string, count: number]>,
): Metric {
  const children = (): Child[] => Array.from(read(), ([own, value]) => ({ labels: { [label]: own }, value }))
  return { type, name, help, labels: [label], read: children }
}

/** A histogram without labels. */
export function histogram(name: string, help: string, value: Distribution): Metric {
  return { type: 'histogram', name, help, labels: [], read: () => [{ labels: {}, value }] }
}

interface WrittenValue {
  readonly metricName: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

/** A registry that writes metrics. @param constants labels that every child gets */
export function registryOf(metrics: readonly Metric[], prefix: string, constants: Labels): Registry {
  const registry = new Registry()
  registry.setDefaultLabels(constants)
  for (const metric of metrics) {
    const { help, type } = metric
    const name = prefix + metric.name
    const collected = {
      name,
      help,
      type,
      get: async () => ({ name, help, type, values: valuesOf(metric, name) }),
    }
    // All that a registry asks of a metric.
    registry.registerMetric(collected as unknown as PrometheusMetric)
  }
  return registry
}

function valuesOf(metric: Metric, name: string): WrittenValue[] {
  if (metric.type !== 'histogram')
    return metric.read().map(({ labels, value }) => ({ metricName: name, labels, value }))
  return metric.read().flatMap(({ labels, value: { bounds, cumulative, sum } }) => [
    ...cumulative.map((value, bucket) => ({
      metricName: `${name}_bucket`,
      labels: { ...labels, le: bounds[bucket] ?? '+Inf' },
      value,
    })),
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: cumulative.at(-1)! },
  ])
}
