import { type WorkerInputs, definePolicy } from '@router/sdk'
import { expect, it } from 'vitest'
import { z } from 'zod'
import type { SelectionRequest } from '../src/index.js'
import { caught, codeOf } from './support/caught.js'
import { hostOf, request, tinyHost } from './support/hosts.js'
import { costsBy, lowestTotal } from './support/policies.js'

const picker = lowestTotal
const scorer = costsBy(() => 0)

it.each<[string, object]>([
  ['scorers that are no list', { scorers: scorer, picker }],
  ['filters that are a text', { filters: 'x', picker }],
  ['a scorer without a name', { scorers: [{ score: scorer.score }], picker }],
  ['a picker with an empty name', { picker: { ...picker, name: '' } }],
  ['a component whose inputs are a text', { scorers: [{ ...scorer, inputs: 'load' }], picker }],
])('create that returns %s is an invalid definition', (_what, returned) => {
  expect(codeOf(() => tinyHost(() => returned as never))).toBe('ROUTER_POLICY_DEFINITION_INVALID')
})

it.each([
  ['resolves', () => Promise.resolve({ picker })],
  ['rejects later, which ends nothing', () => Promise.reject(new Error('late'))],
])('create that returns a promise which %s is an invalid definition', async (_what, create) => {
  const policy = definePolicy({
    type: 'promised',
    version: '1.0.0',
    stability: 'stable',
    roles: ['decode'],
    affinity: 'advisory',
    parameters: z.strictObject({}),
    inputs: [],
    create: create as never,
  })
  expect(codeOf(() => hostOf(policy))).toBe('ROUTER_POLICY_DEFINITION_INVALID')
  await Promise.resolve()
})

it.each<[string, unknown]>([
  ['a promise', Promise.resolve(['load'])],
  ['a text', 'load'],
  ['nothing', undefined],
])('inputs that return %s are an invalid definition', (_what, returned) => {
  const inputs = (() => returned) as never as WorkerInputs
  expect(codeOf(() => tinyHost({ picker }, { inputs }))).toBe('ROUTER_POLICY_DEFINITION_INVALID')
})

it('a mode that is neither tracked nor query is a bad request', () => {
  const host = tinyHost({ picker })
  const bogus = 'bogus' as SelectionRequest['mode']
  expect(codeOf(() => host.selector.select(request({ mode: bogus })))).toBe('ROUTER_BAD_REQUEST')
  expect(host.select()).toBe('1.0')
})

it('a pin out of range says which ranks there are', () => {
  const workers = [
    { workerId: 1n, dataParallelStartRank: 2, dataParallelSize: 3 },
    { workerId: 2n, dataParallelSize: 0 },
  ]
  const host = tinyHost({ picker }, { workers })
  const refusal = (workerId: bigint) =>
    caught(() => host.selector.select(request({ pinnedWorker: { workerId, dpRank: 5 } })))
  expect(refusal(1n).details).toEqual({
    workerId: 1n,
    dpRank: 5,
    rejection: 'DpRankUnavailable',
    start: 2,
    end: 5,
  })
  expect(refusal(1n).message).toContain('ranks 2 to 4')
  expect(refusal(2n).message).toContain('no ranks')
})
