import {
  type ClassifierDefinition,
  type ClassifierEvent,
  type ClassifierRequest,
  type KvHintPolicyDefinition,
  PolicyCatalog,
  type RequestClassifier,
  type ResolvedPlugin,
  type WorkerRank,
  type WyRand,
  defineClassifier,
  defineKvHintPolicy,
} from '@router/sdk'
import { describe, expectTypeOf, it } from 'vitest'
import { z } from 'zod'

const source = {
  type: 'x',
  version: '1.0.0',
  parameters: z.strictObject({ window_ms: z.number().default(5), seed: z.string().transform(BigInt) }),
} as const

describe('defineClassifier', () => {
  it('gives create the output of the schema and the services of the host', () => {
    const definition = defineClassifier({
      ...source,
      create: (parameters, scope) => {
        expectTypeOf(parameters).toEqualTypeOf<{ window_ms: number; seed: bigint }>()
        expectTypeOf(scope.random(parameters.seed)).toEqualTypeOf<WyRand>()
        expectTypeOf(scope.workers()[0]!.totalKvBlocks).toEqualTypeOf<number | undefined>()
        expectTypeOf(scope.nowMs() + scope.blockSize).toEqualTypeOf<number>()
        return {
          classify: async (request) => {
            expectTypeOf(request).toEqualTypeOf<ClassifierRequest>()
            request.setPolicyClass(request.sessionContext === undefined ? 'batch' : 'chat')
            request.setDueAt(request.ingressAtMs + parameters.window_ms)
            request.setSchedulingCostTokens(request.progress().contextTokens)
            request.setWorkerSelectionTarget({ workerId: scope.workers()[0]!.workerId })
            request.clearWorkerSelectionTarget()
            return request
          },
          onEvent: async (event) => {
            expectTypeOf(event).toEqualTypeOf<ClassifierEvent>()
          },
        }
      },
    })
    expectTypeOf(definition).toEqualTypeOf<ClassifierDefinition>()
  })

  it('needs neither hook, and both are asynchronous', () => {
    defineClassifier({ ...source, create: () => ({}) })
    // @ts-expect-error -- a promise of the request
    defineClassifier({ ...source, create: () => ({ classify: (request) => request }) })
    // @ts-expect-error -- the request that it was given, not nothing
    defineClassifier({ ...source, create: () => ({ classify: async () => undefined }) })
    // @ts-expect-error -- made at once
    defineClassifier({ ...source, create: async () => ({}) satisfies RequestClassifier })
    // @ts-expect-error -- required
    defineClassifier({ ...source })
  })

  it('shows facts that are read, never written', () => {
    const request = null! as ClassifierRequest
    // @ts-expect-error -- overrides go through setPolicyClass
    request.policyClass = 'chat'
    // @ts-expect-error -- no view of caches
    void request.cache
    const narrow = null! as ClassifierEvent
    if (narrow.kind === 'aborted') expectTypeOf(narrow.worker).toEqualTypeOf<WorkerRank | undefined>()
    if (narrow.kind === 'sent') expectTypeOf(narrow.worker).toEqualTypeOf<WorkerRank>()
    // @ts-expect-error -- only a completed request tells its length
    void narrow.contextTokens
  })
})

describe('defineKvHintPolicy', () => {
  it('gives create the output of the schema, and the hook the selection', () => {
    const definition = defineKvHintPolicy({
      ...source,
      create: ({ window_ms }) => ({
        hints: async ({ selectedWorker, sessionContext, sessionPrefixIndex }) => {
          expectTypeOf(selectedWorker).toEqualTypeOf<WorkerRank>()
          if (sessionContext === undefined || sessionPrefixIndex === undefined) return []
          const chains = sessionPrefixIndex.lineage(sessionContext.sessionId, selectedWorker)
          return chains.map((chain) => ({ kind: 'keep', blocks: chain.length, window_ms }))
        },
      }),
    })
    expectTypeOf(definition).toEqualTypeOf<KvHintPolicyDefinition>()
    // @ts-expect-error -- an action has a kind
    defineKvHintPolicy({ ...source, create: () => ({ hints: async () => [{ blocks: 1 }] }) })
  })
})

describe('PolicyCatalog', () => {
  it('keeps the kinds apart', () => {
    const catalog = new PolicyCatalog()
    const hints = null! as KvHintPolicyDefinition
    // @ts-expect-error -- another kind
    catalog.registerClassifier(hints)
    // @ts-expect-error -- another kind
    catalog.registerPackage('p', { classifiers: [hints] })
    expectTypeOf(catalog.findClassifier('x')).toEqualTypeOf<ClassifierDefinition>()
    expectTypeOf(catalog.findKvHintPolicy('x')).toEqualTypeOf<KvHintPolicyDefinition>()
    expectTypeOf(catalog.resolve({}).requestClassifier).toEqualTypeOf<
      ResolvedPlugin<ClassifierDefinition> | undefined
    >()
  })

  it('takes a module as a package', () => {
    expectTypeOf(new PolicyCatalog().registerPackage).toBeCallableWith('p', {
      policies: [],
      classifiers: undefined,
    })
  })
})
