import { routerDefaults as builtIn } from '@router/sdk'
import { describe, expect, test } from 'vitest'
import {
  type Environment,
  type FlagTexts,
  loadRouterPolicy,
  overlapWeightDefaults,
  selectionSettings,
} from '../src/index.js'
import { catalog, refusal } from './support.js'

const load = (flags: FlagTexts, environment: Environment, text = 'router: {}') =>
  loadRouterPolicy({ catalog: catalog(), text, flags, environment })
const defaults = async (...given: Parameters<typeof load>) => (await load(...given)).routerDefaults

test('the built-in values', async () => {
  expect(await defaults({}, {})).toEqual(builtIn)
})

describe('each setting by flag, variable and alias', () => {
  const settings = [
    [
      'overlap_score_credit',
      'router-kv-overlap-score-credit',
      'ROUTER_KV_OVERLAP_SCORE_CREDIT',
      'DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT',
    ],
    [
      'overlap_score_credit_decay',
      'router-kv-overlap-score-credit-decay',
      'ROUTER_KV_OVERLAP_SCORE_CREDIT_DECAY',
      'DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT_DECAY',
    ],
    [
      'prefill_load_scale',
      'router-prefill-load-scale',
      'ROUTER_PREFILL_LOAD_SCALE',
      'DYN_ROUTER_PREFILL_LOAD_SCALE',
    ],
    [
      'decode_active_request_weight',
      'router-decode-active-request-weight',
      'ROUTER_DECODE_ACTIVE_REQUEST_WEIGHT',
      'DYN_ROUTER_DECODE_ACTIVE_REQUEST_WEIGHT',
    ],
    [
      'host_cache_hit_weight',
      'router-host-cache-hit-weight',
      'ROUTER_HOST_CACHE_HIT_WEIGHT',
      'DYN_ROUTER_HOST_CACHE_HIT_WEIGHT',
    ],
    [
      'disk_cache_hit_weight',
      'router-disk-cache-hit-weight',
      'ROUTER_DISK_CACHE_HIT_WEIGHT',
      'DYN_ROUTER_DISK_CACHE_HIT_WEIGHT',
    ],
    [
      'shared_cache_multiplier',
      'shared-cache-multiplier',
      'ROUTER_SHARED_CACHE_MULTIPLIER',
      'DYN_SHARED_CACHE_MULTIPLIER',
    ],
    ['router_temperature', 'router-temperature', 'ROUTER_TEMPERATURE', 'DYN_ROUTER_TEMPERATURE'],
  ] as const

  test.each(settings)('%s', async (key, flag, variable, alias) => {
    expect((await defaults({}, { [alias]: '0.125' }))[key]).toBe(0.125)
    expect((await defaults({}, { [alias]: '0.125', [variable]: '0.25' }))[key]).toBe(0.25)
    expect((await defaults({ [flag]: '0.5' }, { [alias]: '0.125', [variable]: '0.25' }))[key]).toBe(0.5)
  })

  test('the table of settings has them, and the selections', () => {
    const names = Object.values(selectionSettings).map(({ flag, variable, aliases }) => [
      flag,
      variable,
      ...aliases,
    ])
    for (const [, ...row] of settings) expect(names).toContainEqual(row)
    expect(names).toContainEqual(['router-policy-config', 'ROUTER_POLICY_CONFIG', 'DYN_ROUTER_POLICY_CONFIG'])
    expect(names).toContainEqual(['shared-cache-type', 'ROUTER_SHARED_CACHE_TYPE', 'DYN_SHARED_CACHE_TYPE'])
  })
})

describe('numbers are strict', () => {
  test.each([
    ['1e1', 10],
    ['1.', 1],
    ['.5', 0.5],
    ['+2', 2],
    ['-0', -0],
    ['007', 7],
  ])('%s is %d', async (text, value) => {
    expect((await defaults({}, { DYN_ROUTER_TEMPERATURE: text })).router_temperature).toBe(value)
  })

  test.each(['', ' ', ' 1', '1 ', '1,5', 'x', 'inf', 'Infinity', 'nan', '1e999', '-0.1', '0x1', '1_0', '.'])(
    '%j stops start-up',
    async (value) => {
      for (const given of [
        { flags: { 'router-temperature': value } },
        { environment: { ROUTER_TEMPERATURE: value } },
      ]) {
        const { code, issues } = await refusal(() => loadRouterPolicy({ catalog: catalog(), ...given }))
        expect(code).toBe('ROUTER_CONFIG_INVALID')
        expect(issues).toMatchObject([{ value, accepted: 'a finite number >= 0' }])
      }
    },
  )

  test.each([
    'ROUTER_HOST_CACHE_HIT_WEIGHT',
    'DYN_ROUTER_DISK_CACHE_HIT_WEIGHT',
    'DYN_SHARED_CACHE_MULTIPLIER',
  ])('%s is at most 1', async (name) => {
    const { issues } = await refusal(() => load({}, { [name]: '1.01' }))
    expect(issues).toMatchObject([{ path: [name], accepted: 'a number from 0 to 1' }])
  })
})

describe('encoder_cuda_to_cpu_ratio, by flag, variable and alias', () => {
  const names = ['ROUTER_ENCODER_CUDA_TO_CPU_RATIO', 'DYN_ENCODER_CUDA_TO_CPU_RATIO'] as const

  test('is read', async () => {
    const [variable, alias] = names
    const ratio = async (...given: Parameters<typeof load>) =>
      (await defaults(...given)).encoder_cuda_to_cpu_ratio
    expect(await ratio({}, { [alias]: '1' })).toBe(1)
    expect(await ratio({}, { [alias]: '2', [variable]: '3.5' })).toBe(3.5)
    expect(await ratio({ 'encoder-cuda-to-cpu-ratio': '4' }, { [variable]: '3.5' })).toBe(4)
  })

  test.each(names)('%s is at least 1', async (name) => {
    const { code, issues } = await refusal(() => load({}, { [name]: '0.99' }))
    expect(code).toBe('ROUTER_CONFIG_INVALID')
    expect(issues).toMatchObject([{ path: [name], value: '0.99', accepted: 'a finite number >= 1' }])
  })
})

describe('the router section', () => {
  test('wins over flags and environment, with a warning where it changes something', async () => {
    const flags = { 'router-host-cache-hit-weight': '0.5', 'shared-cache-type': 'none' }
    const text = 'router: {host_cache_hit_weight: 0.25, disk_cache_hit_weight: 1, shared_cache_type: none}'
    const { routerDefaults, warnings } = await load(flags, { DYN_ROUTER_DISK_CACHE_HIT_WEIGHT: '0.5' }, text)
    expect(routerDefaults).toMatchObject({
      host_cache_hit_weight: 0.25,
      disk_cache_hit_weight: 1,
      shared_cache_multiplier: 0,
    })
    expect(warnings.map(({ code, message }) => [code, message.split('=')[0]])).toEqual([
      ['overridden_by_file', '--router-host-cache-hit-weight'],
      ['overridden_by_file', 'DYN_ROUTER_DISK_CACHE_HIT_WEIGHT'],
    ])
  })

  test.each<[FlagTexts, Environment, string, number]>([
    [{}, {}, 'router: {shared_cache_type: hicache}', 0.5],
    [{}, { DYN_SHARED_CACHE_TYPE: 'hicache' }, 'router: {}', 0.5],
    [{ 'shared-cache-type': 'hicache' }, {}, 'router: {shared_cache_type: none}', 0],
    [{ 'shared-cache-multiplier': '0.75' }, {}, 'router: {shared_cache_type: hicache}', 0.75],
    [{}, { ROUTER_SHARED_CACHE_MULTIPLIER: '0' }, 'router: {shared_cache_type: hicache}', 0],
    [{}, { DYN_SHARED_CACHE_MULTIPLIER: '0.25' }, 'router: {}', 0.25],
  ])('the shared-cache multiplier of %j %j %s is %d', async (flags, environment, text, value) => {
    expect((await defaults(flags, environment, text)).shared_cache_multiplier).toBe(value)
  })

  test('router_event_threads has no effect, with one warning', async () => {
    const { warnings, notYetActive } = await load({}, {}, 'router: {router_event_threads: 4}')
    expect(warnings.map(({ code }) => code)).toEqual(['no_effect'])
    expect(notYetActive).toEqual([])
  })
})

describe('the legacy overlap weight', () => {
  test.each<[FlagTexts, Environment, number, number]>([
    [{}, { DYN_OVERLAP_SCORE_WEIGHT: '2' }, 2, 1],
    [{}, { DYN_OVERLAP_SCORE_WEIGHT: '0' }, 0, 0],
    [{}, { DYN_OVERLAP_SCORE_WEIGHT: '2', DYN_ROUTER_KV_OVERLAP_SCORE_WEIGHT: '3' }, 3, 1],
    [{}, { DYN_ROUTER_KV_OVERLAP_SCORE_WEIGHT: '3', DYN_ROUTER_PREFILL_LOAD_SCALE: '7' }, 3, 1],
    [{ 'router-prefill-load-scale': '5' }, { DYN_ROUTER_KV_OVERLAP_SCORE_WEIGHT: '3' }, 5, 1],
    [{ 'router-kv-overlap-score-weight': '0' }, { ROUTER_KV_OVERLAP_SCORE_CREDIT: '0.5' }, 0, 0],
    [{ 'router-kv-overlap-score-credit': '0.5' }, { ROUTER_KV_OVERLAP_SCORE_WEIGHT: '0' }, 0, 0.5],
  ])('%j %j: scale %d, credit %d', async (flags, environment, scale, credit) => {
    const { routerDefaults, warnings } = await load(flags, environment)
    expect(routerDefaults).toMatchObject({ prefill_load_scale: scale, overlap_score_credit: credit })
    expect(warnings.map(({ code }) => code)).toContain('deprecated_setting')
  })

  test('as one function, for request overrides', () => {
    expect(overlapWeightDefaults(2)).toEqual({ prefill_load_scale: 2 })
    expect(overlapWeightDefaults(0)).toEqual({ prefill_load_scale: 0, overlap_score_credit: 0 })
  })
})
