import { ConfigError } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { loadServePolicy } from '../../src/serve-policy.js'
import { inertSettings } from '../../src/settings/inert-settings.js'
import { routerModes } from '../../src/settings/routing-settings.js'
import { readServeSettings } from '../../src/settings/serve-settings.js'
import { fileWith } from '../support.js'

type Texts = Readonly<Record<string, string>>

const instances = `worker_selection:
  aggregated: mine
  instances:
    - {name: mine, type: prefix-affinity}
    - {name: other, type: dynamo-kv-capacity-aware}
`

/** Type that serves aggregated workers, and who said so. */
async function chosen(flags: Texts, path?: string, environment: Texts = {}) {
  const { bundle, roles } = await loadServePolicy({ flags, environment, path })
  const { name, definition } = bundle.roles.aggregated!
  return { name, type: definition.type, origin: roles.aggregated.origin, decode: roles.decode.name }
}

async function issueOf(load: () => Promise<unknown>) {
  try {
    await load()
  } catch (error) {
    if (ConfigError.isInstance(error)) return error.issues[0]!
    throw error
  }
  throw new Error('nothing was refused')
}

/** What does nothing, by where it was said. */
async function inert(flags: Texts, { yaml, hasMain }: { yaml?: string; hasMain?: boolean } = {}) {
  const path = yaml === undefined ? undefined : fileWith(yaml)
  const policy = await loadServePolicy({ flags, path })
  const settings = readServeSettings({ flags, policyFile: policy.policyFile })
  return inertSettings(settings, policy, hasMain).map(({ code, scope }) => {
    expect(code).toBe('inert_setting')
    return scope
  })
}

describe('the policy of a service', () => {
  it.each([
    ['kv', 'dynamo-default-cost-fn'],
    ['round-robin', 'dynamo-round-robin'],
    ['random', 'dynamo-random'],
    ['power-of-two', 'dynamo-power-of-two-choices'],
    ['least-loaded', 'dynamo-least-loaded'],
    ['device-aware-weighted', 'dynamo-device-aware-weighted'],
    ['direct', 'dynamo-direct'],
  ])('of mode %s is %s', async (mode, type) => {
    expect(routerModes).toContain(mode)
    const { type: found, decode } = await chosen({ 'router-mode': mode })
    expect(found).toBe(type)
    expect(decode).toBe(mode === 'kv' ? 'default' : type)
    expect(await chosen({}, undefined, { DYN_ROUTER_MODE: mode })).toMatchObject({ type })
  })

  it('is an instance of the file by its name, else a type by its, and a flag wins over the file', async () => {
    const path = fileWith(instances)
    expect(await chosen({}, path)).toMatchObject({ name: 'mine', origin: 'worker_selection.aggregated' })
    expect(await chosen({ policy: 'other' }, path)).toMatchObject({
      name: 'other',
      type: 'dynamo-kv-capacity-aware',
      origin: '--policy',
    })
    expect(await chosen({ policy: 'dynamo-random' }, path)).toMatchObject({
      name: 'dynamo-random',
      type: 'dynamo-random',
    })
    expect(await chosen({ policy: 'default' }, path)).toMatchObject({
      name: 'default',
      type: 'dynamo-default-cost-fn',
    })
    const { bundle } = await loadServePolicy({ path, environment: { ROUTER_POLICY: 'dynamo-random' } })
    expect(bundle.instances.map(({ name }) => name)).toEqual(['mine', 'other', 'dynamo-random'])
  })

  it('C1: that nobody knows is refused, with those that there are', async () => {
    const issue = await issueOf(() =>
      loadServePolicy({ flags: { policy: 'othr' }, path: fileWith(instances) }),
    )
    expect(issue).toMatchObject({ code: 'ROUTER_POLICY_INSTANCE_UNKNOWN', path: ['--policy'], value: 'othr' })
    expect(issue.accepted).toMatch(/^default, mine, other, dynamo-/)
    expect(issue.message).toContain("did you mean 'other'?")
  })

  it.each([
    ['--router-mode', 'random', { 'router-mode': 'random' }, instances],
    ['--router-mode', 'random', { 'router-mode': 'random', policy: 'default' }, undefined],
    [
      '--router-mode',
      'random',
      { 'router-mode': 'random', 'router-worker-selection-policy': 'default' },
      undefined,
    ],
    ['--policy', 'mine', { policy: 'mine', 'router-worker-selection-policy': 'other' }, instances],
  ] as const)('C1: %s=%s and %j contradict', async (origin, value, flags, yaml) => {
    const path = yaml === undefined ? undefined : fileWith(yaml)
    const issue = await issueOf(() => loadServePolicy({ flags, path }))
    expect(issue).toMatchObject({ code: 'ROUTER_CONFIG_INVALID', path: [origin], value })
    expect(issue.accepted).toBeTruthy()
  })

  it('inherits what flags and variables say of costs; a legacy weight stands for two of them', async () => {
    const of = async (flags: Texts, environment: Texts = {}) =>
      (await loadServePolicy({ flags, environment })).routerDefaults
    expect(await of({ 'router-temperature': '0.5' }, { DYN_ROUTER_TEMPERATURE: '0.1' })).toMatchObject({
      router_temperature: 0.5,
    })
    expect(await of({ 'router-kv-overlap-score-weight': '0' })).toMatchObject({
      prefill_load_scale: 0,
      overlap_score_credit: 0,
    })
    expect(await of({ 'load-aware': 'true', 'shared-cache-multiplier': '1' })).toMatchObject({
      overlap_score_credit: 0,
      shared_cache_multiplier: 0,
    })
  })
})

describe('settings that do nothing are told', () => {
  it('in this version', async () => {
    expect(await inert({})).toEqual([])
    const flags = {
      'router-queue-threshold': '2',
      'migration-limit': '1',
      'audit-log': 'x',
      'shared-cache-type': 'hicache',
    }
    expect((await inert(flags)).toSorted()).toEqual([
      '--audit-log',
      '--migration-limit',
      '--router-queue-threshold',
      '--shared-cache-type',
    ])
    // As good as not said.
    expect(
      await inert({ 'migration-limit': '0', 'shared-cache-type': 'none', 'decode-fallback': 'false' }),
    ).toEqual([])
  })

  it('in a mode without costs', async () => {
    const flags = { 'router-ttl-secs': '3', 'router-temperature': '1', 'encoder-cuda-to-cpu-ratio': '4' }
    expect(await inert(flags)).toEqual(['--encoder-cuda-to-cpu-ratio'])
    expect(await inert({ ...flags, 'router-mode': 'random' })).toEqual([
      '--router-ttl-secs',
      '--router-temperature',
      '--encoder-cuda-to-cpu-ratio',
    ])
    expect(await inert({ 'encoder-cuda-to-cpu-ratio': '4', 'router-mode': 'device-aware-weighted' })).toEqual(
      [],
    )
  })

  it('without a main listener', async () => {
    expect(await inert({ 'retry-limit': '1' })).toEqual([])
    expect(await inert({ 'retry-limit': '1' }, { hasMain: false })).toEqual(['--retry-limit'])
  })

  it('beside what they would change', async () => {
    expect(await inert({ 'chat-template': 'x' })).toEqual(['--chat-template'])
    expect(await inert({ 'chat-template': 'x', tokenizer: 'y' })).toEqual([])
  })

  it('of a policy file', async () => {
    const queue = 'default_policy_class: a\npolicy_classes: [{name: a, slo_ms: 1, quantum: 1}]\n'
    expect(await inert({}, { yaml: queue })).toEqual(['policy_classes'])
    expect(await inert({}, { yaml: 'router: {router_ttl_secs: 3}' })).toEqual([])
    expect(await inert({ 'router-mode': 'random' }, { yaml: 'router: {router_ttl_secs: 3}' })).toEqual([
      'router.router_ttl_secs',
    ])
    const roles = `${instances}  decode: other\n`
    expect(await inert({}, { yaml: roles })).toEqual(['worker_selection.decode'])
    expect(await inert({ 'router-prefill-policy': 'mine' }, { yaml: instances })).toEqual([
      '--router-prefill-policy',
    ])
  })
})
