import { defaultPolicy } from '@router/policy-default'
import { validateParameters } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { PolicyInstance } from '../src/index.js'
import { caught, codeOf } from './support/caught.js'
import { request } from './support/hosts.js'
import { selectorFor, setUp } from './support/patch-setup.js'
import { resolved, tinyPolicy } from './support/policies.js'
import { type ObjectLog, weightedPolicy } from './support/weighted-policy.js'

describe('an accepted patch', () => {
  it("is in force at the next selection, in the result's revision, with values before and after", () => {
    const { instance, costs } = setUp({ parameters: { weight: 2 } })
    expect([costs(), instance.revision]).toEqual([[3, 5], 1])
    expect(instance.patch({ weight: 3 })).toEqual({
      revision: 2,
      before: { weight: 2 },
      after: { weight: 3 },
    })
    expect(costs()).toEqual([5, 8])
    expect(instance.identity).toMatchObject({ type: 'tiny', name: 'tested', revision: 2 })
    expect(instance.parameters).toMatchObject({ weight: 3 })
    expect(instance.startParameters).toEqual({ weight: 2 })
  })

  it('keeps the state of the policy object', () => {
    const { instance, costs, log } = setUp()
    costs()
    instance.patch({ weight: 0 })
    expect(costs()).toEqual([2, 2])
    expect([log.length, log[0]!.selections]).toEqual([1, 2])
  })

  it('hands over the parsed parameters, defaults included', () => {
    const { instance, log } = setUp({ parameters: { list: [1] } })
    instance.patch({ by_class: { batch: 2 } })
    expect(log[0]!.reconfigured).toEqual([
      {
        weight: 1,
        cap: 5,
        cache_weight: 0,
        decay: { half_life_ms: 100 },
        by_class: { batch: 2 },
        list: [1],
        seed: 0,
      },
    ])
    expect(instance.configured).toEqual({ list: [1], by_class: { batch: 2 } })
  })

  it('names its revision in each result, old results keep theirs', () => {
    const { instance } = setUp()
    const selector = selectorFor(instance, 'decode')
    const before = selector.select(request()).policy
    instance.patch({ weight: 4 })
    expect([before.revision, selector.select(request()).policy.revision]).toEqual([1, 2])
    expect(selector.explain(request()).policy.revision).toBe(2)
    expect(Object.isFrozen(before)).toBe(true)
  })

  it('that changes nothing keeps the revision and calls nobody', () => {
    const { instance, log } = setUp({ parameters: { weight: 2, decay: { half_life_ms: 7 } } })
    for (const change of [{}, { weight: 2 }, { decay: { half_life_ms: 7 } }, { weight: null }]) {
      expect(instance.patch(change)).toMatchObject({
        revision: 1,
        after: { weight: 2, decay: { half_life_ms: 7 } },
      })
    }
    expect(log[0]!.reconfigured).toEqual([])
  })

  it('reaches objects built later', () => {
    const { instance } = setUp()
    instance.patch({ weight: 5 })
    const later = selectorFor(instance, 'prefill')
    expect(later.explain(request()).rows.map((row) => row.total)).toEqual([6, 11])
    expect(later.select(request()).policy.revision).toBe(2)
  })

  it('does not reach objects that are gone', () => {
    const { instance, log } = setUp()
    const gone = selectorFor(instance, 'prefill')
    gone.dispose()
    instance.patch({ weight: 5 })
    expect(log.map(({ reconfigured }) => reconfigured.length)).toEqual([1, 0])
  })

  it('of an instance that nobody uses yet is validated all the same', () => {
    const { instance } = setUp({ roles: [] })
    expect(codeOf(() => instance.patch({ weight: -1 }))).toBe('ROUTER_POLICY_PARAMETERS_INVALID')
    expect(instance.patch({ cache_weight: 1 }).revision).toBe(2)
  })
})

describe('a refused patch', () => {
  it('of names outside runtime lists all of them, and what may change', () => {
    const { instance } = setUp()
    const change = { seed: 1, weight: 2, decay: { floor: 1, half_life_ms: 2 }, unknown: null }
    const { code, details, message } = caught(() => instance.patch(change))
    expect(code).toBe('ROUTER_PARAMETER_NOT_RUNTIME')
    expect(details).toMatchObject({ instance: 'tested', names: ['seed', 'decay.floor', 'unknown'] })
    expect(message).toContain('by_class')
    for (const whole of [{ decay: null }, { decay: 3 }, { decay: [1] }, { 'decay.floor': 1 }])
      expect(codeOf(() => instance.patch(whole))).toBe('ROUTER_PARAMETER_NOT_RUNTIME')
    const fixed = new PolicyInstance(resolved(tinyPolicy()))
    expect(codeOf(() => fixed.patch({ weight: 1 }))).toBe('ROUTER_PARAMETER_NOT_RUNTIME')
    expect(fixed.patch({}).revision).toBe(1)
  })

  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['out of range', { weight: -1 }, { weight: -1 }],
    ['of a wrong type', { weight: '3' }, { weight: '3' }],
    ['NaN', { weight: Number.NaN }, { weight: Number.NaN }],
    ['infinite', { weight: Infinity }, { weight: Infinity }],
    ['nested', { decay: { half_life_ms: 0 } }, { decay: { half_life_ms: 0 } }],
    ['in a map', { by_class: { a: -1, b: 'x' } }, { by_class: { a: -1, b: 'x' } }],
    ['in a list', { list: [1, null] }, { list: [1, null] }],
    ['dotted', { 'decay.half_life_ms': 1 }, { 'decay.half_life_ms': 1 }],
    ['several', { weight: 99, cap: -1 }, { weight: 99, cap: -1 }],
  ])('with a value %s has the code and the issues of start-up', (_kind, change, asConfigured) => {
    const { instance, log } = setUp()
    const atStart = caught(() => validateParameters(instance.definition, 'tested', asConfigured))
    const patched = caught(() => instance.patch(change))
    expect(patched.code).toBe('ROUTER_POLICY_PARAMETERS_INVALID')
    expect([patched.code, patched.message, patched.details]).toEqual([
      atStart.code,
      atStart.message,
      atStart.details,
    ])
    expect([instance.revision, instance.configured, log[0]!.reconfigured]).toEqual([1, {}, []])
  })

  it.each([[null], [[]], ['weight'], [3], [undefined]])(
    'that is %j and no mapping is refused as at start-up',
    (change) => {
      const { instance } = setUp()
      expect(codeOf(() => instance.patch(change as never))).toBe('ROUTER_POLICY_PARAMETERS_INVALID')
      expect(instance.revision).toBe(1)
    },
  )

  it('at another revision than expected is a conflict that names both', () => {
    const { instance } = setUp()
    instance.patch({ weight: 2 }, 1)
    const { code, details } = caught(() => instance.patch({ weight: 3 }, 1))
    expect(code).toBe('ROUTER_PATCH_CONFLICT')
    expect(details).toEqual({ instance: 'tested', revision: 2, expected: 1 })
    expect(instance.patch({ weight: 3 }, 2).revision).toBe(3)
  })

  it('reports conflict before names before values before inputs', () => {
    const { instance } = setUp()
    const faults = { seed: 1, weight: -1, cache_weight: 1 }
    expect(codeOf(() => instance.patch(faults, 9))).toBe('ROUTER_PATCH_CONFLICT')
    expect(codeOf(() => instance.patch(faults))).toBe('ROUTER_PARAMETER_NOT_RUNTIME')
    expect(codeOf(() => instance.patch({ weight: -1, cache_weight: 1 }))).toBe(
      'ROUTER_POLICY_PARAMETERS_INVALID',
    )
    expect(codeOf(() => instance.patch({ cache_weight: 1 }))).toBe('ROUTER_PATCH_NEEDS_INPUT')
  })
})

describe('inputs that a patch would need', () => {
  it('must have been declared: refused without runtime: true, which reserves them', () => {
    const plain = setUp()
    const { code, details, message } = caught(() => plain.instance.patch({ cache_weight: 1, weight: 9 }))
    expect(code).toBe('ROUTER_PATCH_NEEDS_INPUT')
    expect(details).toMatchObject({ instance: 'tested', group: 'cache' })
    expect(message).toContain('runtime: true')
    expect([plain.instance.revision, plain.costs()]).toEqual([1, [2, 3]])
    const reserving = setUp({ runtime: true })
    expect(reserving.instance.patch({ cache_weight: 1 }).revision).toBe(2)
  })

  it('that stay inside the declared set are no matter', () => {
    const { instance } = setUp({ parameters: { cache_weight: 1 } })
    expect(instance.patch({ cache_weight: 0 }).revision).toBe(2)
    expect(instance.patch({ cache_weight: 4 }).revision).toBe(3)
  })

  it('are checked for every object before any of them changes', () => {
    const log: ObjectLog[] = []
    const instance = new PolicyInstance(resolved(weightedPolicy(log)))
    instance.patch({ cache_weight: 1 })
    selectorFor(instance, 'decode')
    instance.patch({ cache_weight: 0 })
    // Built without the cache group, beside one that has it.
    selectorFor(instance, 'prefill')
    const { code, details } = caught(() => instance.patch({ cache_weight: 2 }))
    expect([code, details.role]).toEqual(['ROUTER_PATCH_NEEDS_INPUT', 'prefill'])
    expect(log.map(({ reconfigured }) => reconfigured.length)).toEqual([1, 0])
  })

  it('must be declared also where runtime: true reserved too little', () => {
    const definition = tinyPolicy({
      parameters: z.strictObject({ cache_weight: z.number().default(0) }),
      runtime: ['cache_weight'],
      inputsOf: (parameters, scope) =>
        !scope.reservesRuntimeInputs && (parameters as { cache_weight: number }).cache_weight > 0
          ? ['cache']
          : [],
      create: () => ({ reconfigure: () => {} }),
    })
    const instance = new PolicyInstance(resolved(definition, { runtime: true }))
    selectorFor(instance, 'decode')
    expect(codeOf(() => instance.patch({ cache_weight: 1 }))).toBe('ROUTER_PATCH_NEEDS_INPUT')
  })

  it('of the default policy: credit for a prefill object that was built without', () => {
    const build = (runtime: boolean) => {
      const parameters = { overlap_score_credit: 0, prefix_affinity_weight: 0 }
      const instance = new PolicyInstance(resolved(defaultPolicy, { parameters, runtime }))
      selectorFor(instance, 'prefill')
      return instance
    }
    expect(codeOf(() => build(false).patch({ overlap_score_credit: 1 }))).toBe('ROUTER_PATCH_NEEDS_INPUT')
    expect(build(true).patch({ overlap_score_credit: 1 }).revision).toBe(2)
  })
})

describe('all or nothing', () => {
  it('when an object throws: the old parameters go back to all, and nothing else changed', () => {
    let isBroken = true
    const { instance, log, costs } = setUp({
      roles: ['decode', 'prefill', 'decode'],
      veto: (object, { weight }) => {
        if (isBroken && object.role === 'prefill' && weight === 7) throw new Error('not me')
      },
    })
    const error = caught(() => instance.patch({ weight: 7 }))
    expect(error).toMatchObject({ code: 'ROUTER_POLICY_REJECTED_PATCH', cause: { message: 'not me' } })
    expect(log.map(({ reconfigured }) => reconfigured.map(({ weight }) => weight))).toEqual([
      [7, 1],
      [7, 1],
      [],
    ])
    expect([instance.revision, instance.configured, instance.parameters]).toMatchObject([
      1,
      {},
      { weight: 1 },
    ])
    expect([costs(0), costs(1), costs(2)]).toEqual([
      [2, 3],
      [2, 3],
      [2, 3],
    ])
    isBroken = false
    expect(instance.patch({ weight: 7 }).revision).toBe(2)
    expect([costs(0), costs(1), costs(2)]).toEqual([
      [9, 16],
      [9, 16],
      [9, 16],
    ])
  })

  it('also when an object throws while it takes the old ones back', () => {
    const { instance, costs } = setUp({
      roles: ['decode', 'prefill'],
      veto: ({ role }) => {
        if (role === 'prefill') throw new Error('never')
      },
    })
    expect(codeOf(() => instance.patch({ weight: 7 }))).toBe('ROUTER_POLICY_REJECTED_PATCH')
    expect([instance.revision, costs(0)]).toEqual([1, [2, 3]])
  })

  it('of a dry run is nothing: validated like a patch, applied to nobody', () => {
    const { instance, log, costs } = setUp()
    expect(instance.patch({ weight: 4 }, 1, { dryRun: true })).toEqual({
      revision: 1,
      before: {},
      after: { weight: 4 },
    })
    expect([log[0]!.reconfigured, costs(), instance.configured]).toEqual([[], [2, 3], {}])
    const dry = (change: Record<string, unknown>, revision?: number) =>
      codeOf(() => instance.patch(change, revision, { dryRun: true }))
    expect(dry({ weight: -1 })).toBe('ROUTER_POLICY_PARAMETERS_INVALID')
    expect(dry({ seed: 1 })).toBe('ROUTER_PARAMETER_NOT_RUNTIME')
    expect(dry({ cache_weight: 1 })).toBe('ROUTER_PATCH_NEEDS_INPUT')
    expect(dry({ weight: 1 }, 8)).toBe('ROUTER_PATCH_CONFLICT')
  })
})

describe('patches of the default policy', () => {
  const build = () => {
    const parameters = { seed: 42, router_temperature: 0.7 }
    const instance = new PolicyInstance(resolved(defaultPolicy, { parameters }))
    const selector = selectorFor(instance, 'prefill')
    return { instance, next: () => selector.select(request()).workerId, selector }
  }

  it('keep the random stream: the sequence goes on where it was', () => {
    const plain = build()
    const patched = build()
    const expected = Array.from({ length: 30 }, plain.next)
    const found = Array.from({ length: 30 }, (_, round) => {
      if (round % 3 === 0) patched.instance.patch({ router_temperature: 0.1, overlap_score_credit: 3 })
      if (round % 3 === 0) patched.instance.patch({ router_temperature: null, overlap_score_credit: null })
      return patched.next()
    })
    expect(found).toEqual(expected)
    expect(new Set(found).size).toBe(2)
  })

  it('change what it computes, from the next selection on', () => {
    const { instance, selector } = build()
    const totals = () => selector.explain(request({ promptTokens: 160 })).rows.map((row) => row.total)
    expect(totals()).toEqual([10, 10])
    instance.patch({ prefill_load_scale: 2 })
    expect(totals()).toEqual([20, 20])
    expect(codeOf(() => instance.patch({ prefill_load_scale: -0.5 }))).toBe(
      'ROUTER_POLICY_PARAMETERS_INVALID',
    )
    expect(codeOf(() => instance.patch({ seed: 3 }))).toBe('ROUTER_PARAMETER_NOT_RUNTIME')
    expect(totals()).toEqual([20, 20])
  })
})
