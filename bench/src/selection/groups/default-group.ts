import { copyResult } from '@router/core'
import { defaultPolicy } from '@router/policy-default'
import { kvCapacityAwarePolicy } from '@router/policy-kv-capacity-aware'
import { ReferenceSelector, builtInParameters } from '@router/reference-selector'
import type { Body, Comparison, Variant } from '../../harness/variant.js'
import { floorInputOf, requestOf, selectorOver, standardFleet, tableOf } from '../fleet.js'
import { floor } from '../floor.js'
import { resolved } from '../policies.js'
import type { Group } from './group.js'

const decay = 0.6
const temperatures = [0, 0.7] as const

/** How a variant departs from the default policy over SIMD, tracked. */
interface Departure {
  readonly temperature?: number
  readonly decay?: number
  readonly webAssembly?: boolean
  readonly isQuery?: boolean
}

/** The default policy over the standard fleet. */
function defaultBody(workers: number, departure: Departure): Body {
  const { temperature = 0, decay: fade = 0, webAssembly = true, isQuery = false } = departure
  const fleet = standardFleet(workers)
  const parameters = { router_temperature: temperature, overlap_score_credit_decay: fade }
  const selector = selectorOver(tableOf(fleet, { webAssembly }), resolved(defaultPolicy, parameters))
  const request = requestOf(fleet, { mode: isQuery ? 'query' : 'tracked' })
  return () => selector.select(request).slot
}

/** A tracked selection of which the caller keeps every field, the best overlap of the fleet included. */
function copiedBody(workers: number): Body {
  const fleet = standardFleet(workers)
  const selector = selectorOver(tableOf(fleet), resolved(defaultPolicy))
  const request = requestOf(fleet)
  return () => copyResult(selector.select(request)).slot
}

function floorBody(workers: number): Body {
  const input = floorInputOf(standardFleet(workers))
  return () => floor(input)
}

function capacityBody(workers: number): Body {
  const fleet = standardFleet(workers)
  const selector = selectorOver(tableOf(fleet), resolved(kvCapacityAwarePolicy), 'decode')
  const request = requestOf(fleet)
  return () => selector.select(request).slot
}

function referenceBody(workers: number, temperature: number): Body {
  const fleet = standardFleet(workers)
  const parameters = { ...builtInParameters, router_temperature: temperature }
  const selector = new ReferenceSelector({
    role: 'prefill',
    conditionalDisaggregation: false,
    parameters,
    seed: 42n,
  })
  return () => selector.select(fleet).result!.dpRank
}

const at = (name: string, temperature = 0): { name: string; temperature: number } => ({ name, temperature })

function comparisonsAt(temperature: number): Comparison[] {
  return [
    { of: at('policy-query', temperature), to: at('policy', temperature) },
    { of: at('policy-js', temperature), to: at('policy', temperature) },
    { of: at('reference', temperature), to: at('policy', temperature) },
  ]
}

/** The default selection, beside the floor, the oracle and another policy. */
export const defaultGroup: Group = {
  name: 'default',
  title: 'default selection: two ranks a worker, prompt of 2,048 tokens, blocks of 16, role prefill',
  sizes: [8, 64, 256, 1024, 4096],
  contest: (workers) => {
    const ofPolicy = (name: string, departure: Departure): Variant => ({
      name,
      temperature: departure.temperature ?? 0,
      prepare: () => defaultBody(workers, departure),
    })
    return {
      group: 'default',
      workers,
      ranks: 2,
      variants: [
        { ...at('floor'), prepare: () => floorBody(workers) },
        ...temperatures.flatMap((temperature) => [
          ofPolicy('policy', { temperature }),
          ofPolicy('policy-query', { temperature, isQuery: true }),
          ofPolicy('policy-js', { temperature, webAssembly: false }),
          { ...at('reference', temperature), prepare: () => referenceBody(workers, temperature) },
        ]),
        ofPolicy('policy-decay', { decay }),
        ofPolicy('policy-decay-js', { decay, webAssembly: false }),
        { ...at('policy-copied'), prepare: () => copiedBody(workers) },
        { ...at('kv-capacity-aware'), prepare: () => capacityBody(workers) },
      ],
      comparisons: [
        { of: at('policy'), to: at('floor') },
        { of: at('kv-capacity-aware'), to: at('policy') },
        { of: at('policy', 0.7), to: at('policy') },
        { of: at('policy-decay'), to: at('policy') },
        { of: at('policy-decay-js'), to: at('policy-js') },
        { of: at('policy-copied'), to: at('policy') },
        ...temperatures.flatMap(comparisonsAt),
      ],
    }
  },
}
