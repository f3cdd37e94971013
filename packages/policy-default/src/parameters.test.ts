/// <reference types="node" />
import { routerDefaults } from '@router/sdk'
import { readVectors } from '@router/vectors'
import { describe, expect, it } from 'vitest'
import { defaultParameters, effectiveWeights, runtimeParameters } from './parameters.js'

const accepted = (parameters: unknown): boolean => defaultParameters.safeParse(parameters).success
// Of the formula: the ratio of encoders is another policy's.
const { encoder_cuda_to_cpu_ratio: _ratio, ...weights } = routerDefaults
const weightNames = Object.keys(weights) as (keyof typeof weights)[]

interface Recorded {
  readonly id: string
  readonly policy: string
  readonly kind: string
  readonly params: object
  readonly valid: boolean
}
const recorded = (readVectors('rust-policies') as readonly Recorded[]).filter(
  ({ kind, policy }) => kind === 'parameters' && policy === 'dynamo-default-cost-fn',
)

describe('parameters', () => {
  it('have ten recorded cases of the released router', () => expect(recorded).toHaveLength(10))

  it.each(recorded.map((line) => [line.params, line.valid, line] as const))('%j: %s', (params, valid) => {
    expect(accepted(params)).toBe(valid)
  })

  it.each(weightNames)('%s takes any finite number from 0 on, -0 too', (name) => {
    for (const value of [0, -0, 0.5, 1, 2, 1e300, Number.MAX_VALUE])
      expect(accepted({ [name]: value })).toBe(true)
    for (const value of [-1, -1e-9, NaN, Infinity, '1', true, null, [1], {}])
      expect(accepted({ [name]: value }), String(value)).toBe(false)
  })

  it.each([0, 1, '0', '7', '18446744073709551615', 2n ** 64n - 1n, Number.MAX_SAFE_INTEGER])(
    'seed takes %s and keeps it as a bigint',
    (seed) => expect(defaultParameters.parse({ seed }).seed).toBe(BigInt(seed)),
  )

  it.each([-1, 1.5, 2 ** 53, '-1', '', ' 1', '0x10', '18446744073709551616', 2n ** 64n, null, true])(
    'seed refuses %s',
    (seed) => expect(accepted({ seed })).toBe(false),
  )

  it('refuse unknown names, and names the key', () => {
    const { error } = defaultParameters.safeParse({ overlap_score_credits: 1 })
    expect(error!.issues).toMatchObject([{ code: 'unrecognized_keys', keys: ['overlap_score_credits'] }])
    for (const wrong of [{ temperature: 1 }, { Seed: 1 }, [], null, 'x', 1])
      expect(accepted(wrong)).toBe(false)
  })

  it('let every number of the formula change while running, the seed not', () => {
    expect(runtimeParameters.toSorted()).toEqual(weightNames.toSorted())
  })
})

describe('effectiveWeights', () => {
  const router = Object.fromEntries(
    weightNames.map((name, index) => [name, 100 + index]),
  ) as unknown as typeof routerDefaults

  it('inherits what is left out from the router', () => {
    expect(effectiveWeights({}, router)).toEqual(router)
    expect(effectiveWeights({ seed: 3n }, router)).toEqual(router)
  })

  it.each(weightNames)('takes %s where it is given, 0 too, and inherits the others', (name) => {
    for (const value of [0, 7])
      expect(effectiveWeights({ [name]: value }, router)).toEqual({ ...router, [name]: value })
  })
})
