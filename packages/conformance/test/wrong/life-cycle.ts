import { type PolicyDefinition, type PolicyScope, definePolicy, nonNegative } from '@router/sdk'
import { z } from 'zod'
import { type WrongPolicy, canonicalOrder, faulty, knownLoad, scoreRequests } from './wrong-policy.js'

interface Weighted {
  readonly weight: number
}

/** A scorer with a patchable weight and a rotation; `reconfigure` decides what a patch does. */
function patchable(
  reconfigure: ((state: { weight: number; rotation: number }, changed: Weighted) => void) | undefined,
): PolicyDefinition {
  return definePolicy({
    type: 'patchable',
    version: '1.0.0',
    stability: 'stable',
    roles: ['aggregated'],
    affinity: 'advisory',
    parameters: z.strictObject({ weight: nonNegative().default(1) }),
    runtime: ['weight'],
    inputs: ['load'],
    create: ({ weight }) => {
      const state = { weight, rotation: 0 }
      return {
        scorers: [
          {
            name: 'weighted',
            score: (_context, { count, load }, costs) => {
              for (let row = 0; row < count; row++) {
                costs[row] = knownLoad(load, row) ? state.weight * load.activeRequests[row]! : 0
              }
            },
          },
        ],
        picker: {
          name: 'rotation',
          pick: ({ queryOnly }, { count, canonicalRows }) => {
            const index = (queryOnly ? state.rotation : state.rotation++) % count
            return canonicalRows?.[index] ?? index
          },
        },
        ...(reconfigure === undefined
          ? {}
          : { reconfigure: (changed: Weighted) => reconfigure(state, changed) }),
      }
    },
  })
}

/** A rotation with hand-over; the arguments decide what is handed over. */
function handedOver(
  snapshot: (rotation: number) => unknown,
  restore: ((value: never) => number) | undefined,
): PolicyDefinition {
  return faulty(() => {
    let rotation = 0
    return {
      pick: ({ queryOnly }, candidates) => {
        const order = canonicalOrder(candidates)
        return order[(queryOnly ? rotation : rotation++) % order.length]!
      },
      snapshot: () => snapshot(rotation),
      ...(restore === undefined
        ? {}
        : {
            restore: (value: unknown) => {
              rotation = restore(value as never)
            },
          }),
    }
  })
}

const strictRotation = (value: unknown): number => z.strictObject({ rotation: z.int() }).parse(value).rotation
const withObserve = (
  observe: (scope: PolicyScope) => (outcome: { sessionId?: string }) => void,
): PolicyDefinition => faulty((scope) => ({ score: scoreRequests, observe: observe(scope) }))

export const wrongLifeCycle: readonly WrongPolicy[] = [
  {
    name: 'a patch that starts the state afresh',
    policy: patchable((state, changed) => Object.assign(state, { weight: changed.weight, rotation: 0 })),
    breaks: ['reconfigure-same'],
  },
  {
    name: 'a patch that is not taken over',
    policy: patchable(() => {}),
    breaks: ['reconfigure-full'],
  },
  {
    name: 'a patch that only ever raises',
    policy: patchable((state, changed) => {
      state.weight = Math.max(state.weight, changed.weight)
    }),
    breaks: ['reconfigure-full'],
  },
  {
    name: 'runtime parameters without reconfigure',
    policy: patchable(undefined),
    breaks: ['reconfigure-same', 'reconfigure-full', 'live-host', 'live-queries', 'live-views'],
  },
  {
    name: 'a snapshot without the state',
    policy: handedOver(() => ({ rotation: 0 }), strictRotation),
    breaks: ['snapshot-round-trip'],
  },
  {
    name: 'a snapshot that JSON cannot hold',
    policy: handedOver((rotation) => ({ rotation: BigInt(rotation) }), strictRotation),
    breaks: ['snapshot-round-trip'],
  },
  {
    name: 'a restore that accepts anything',
    policy: handedOver(
      (rotation) => ({ rotation }),
      (value: { rotation?: number } | undefined) => value?.rotation ?? 0,
    ),
    breaks: ['snapshot-round-trip'],
  },
  {
    name: 'a snapshot that nobody can restore',
    policy: handedOver((rotation) => ({ rotation }), undefined),
    breaks: ['snapshot-round-trip'],
  },
  {
    name: 'an outcome without a session',
    policy: withObserve(() => (outcome) => void outcome.sessionId!.length),
    breaks: ['hooks-total'],
  },
  {
    name: 'a fleet that must not be empty',
    policy: faulty(() => ({ onWorkersChanged: (workers) => void workers[0]!.workerId })),
    breaks: ['hooks-total'],
  },
]
