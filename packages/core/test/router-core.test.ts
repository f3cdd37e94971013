import { defaultPolicy } from '@router/policy-default'
import { PolicyCatalog, type WorkerSelectionConfig, routerDefaults } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import {
  type PartitionRouter,
  type RouterCoreOptions,
  type RouterWarning,
  type WorkerTable,
  createRouterCore,
} from '../src/index.js'
import { caught, codeOf } from './support/caught.js'
import { nameOf, request } from './support/hosts.js'
import { firstAfter, tinyPolicy } from './support/policies.js'
import { type ObjectLog, weightedPolicy } from './support/weighted-policy.js'

function coreOf(
  config: WorkerSelectionConfig = {},
  {
    catalog = new PolicyCatalog().withDefault(defaultPolicy),
    ...options
  }: Partial<RouterCoreOptions> & { catalog?: PolicyCatalog } = {},
) {
  let seed = 0n
  return createRouterCore({
    policy: catalog.resolve(config),
    random: () => ++seed,
    clock: () => 0,
    ...options,
  })
}

/** Counts those who listen to a table from now on. */
function listenersOf(table: WorkerTable): { listeners: number } {
  const heard = { listeners: 0 }
  const counted =
    <L>(listen: (listener: L) => () => void) =>
    (listener: L) => {
      heard.listeners++
      const stop = listen.call(table, listener)
      return () => {
        heard.listeners--
        stop()
      }
    }
  table.onSlots = counted(table.onSlots)
  table.onDeparture = counted(table.onDeparture)
  return heard
}

/** Two roles that name one instance, one that names another. */
const shared: WorkerSelectionConfig = {
  decode: 'heavy',
  prefill: 'heavy',
  encode: 'light',
  instances: [
    { name: 'heavy', type: 'tiny', parameters: { weight: 5 } },
    { name: 'light', type: 'tiny', runtime: true },
    { name: 'unused', type: 'tiny' },
  ],
}

const weightedCore = (log: ObjectLog[] = [], options: Partial<RouterCoreOptions> = {}) =>
  coreOf(shared, {
    catalog: new PolicyCatalog().withDefault(defaultPolicy).register(weightedPolicy(log)),
    ...options,
  })

describe('partitions', () => {
  it('are built on first use, one table and one policy object per model, routing group and role', () => {
    const log: ObjectLog[] = []
    const core = weightedCore(log)
    expect([core.partitions, log]).toEqual([[], []])
    const first = core.partition({ role: 'decode' })
    expect(core.partition({ role: 'decode', model: 'default', routingGroup: 'default' })).toBe(first)
    const others = [
      core.partition({ role: 'prefill' }),
      core.partition({ role: 'decode', model: 'llama' }),
      core.partition({ role: 'decode', routingGroup: 'blue' }),
    ]
    expect(new Set([first, ...others].map(({ table }) => table)).size).toBe(4)
    expect(log).toHaveLength(4)
    expect(core.partitions).toEqual([first, ...others])
    expect(others[1]).toMatchObject({ model: 'llama', routingGroup: 'default', role: 'decode' })
  })

  it('are told apart whatever their names hold', () => {
    const core = coreOf()
    const keys = [
      { model: 'a/b', routingGroup: 'c' },
      { model: 'a', routingGroup: 'b/c' },
      { model: 'a%2Fb', routingGroup: 'c' },
      { model: 'a', routingGroup: 'b%2Fc' },
      { model: '\ud800', routingGroup: '' },
      { model: '\udfff', routingGroup: '' },
      { model: '', routingGroup: '\ud800' },
    ]
    const tables = keys.map((key) => core.partition({ ...key, role: 'aggregated' }).table)
    expect(new Set(tables).size).toBe(keys.length)
    keys.forEach((key, index) =>
      expect(core.partition({ ...key, role: 'aggregated' }).table).toBe(tables[index]),
    )
    const [{ partitions }] = core.policies() as [ReturnType<typeof core.policies>[0]]
    expect(new Set(partitions).size).toBe(keys.length)
  })

  it('hand their place, defaults, clock and conditional disaggregation to the policy', () => {
    const seen: unknown[] = []
    const policy = tinyPolicy({
      create: (
        _parameters,
        { role, model, routingGroup, conditionalDisaggregation, routerDefaults: defaults, nowMs },
      ) => {
        seen.push({
          role,
          model,
          routingGroup,
          conditionalDisaggregation,
          temperature: defaults.router_temperature,
          now: nowMs(),
        })
        return {}
      },
    })
    const core = coreOf(
      {},
      {
        catalog: new PolicyCatalog().withDefault(policy),
        config: { routerDefaults: { ...routerDefaults, router_temperature: 0.5 } },
        clock: () => 77,
      },
    )
    core.partition({ role: 'decode', model: 'm', routingGroup: 'g', conditionalDisaggregation: true })
    core.partition({ role: 'prefill' })
    expect(seen).toEqual([
      {
        role: 'decode',
        model: 'm',
        routingGroup: 'g',
        conditionalDisaggregation: true,
        temperature: 0.5,
        now: 77,
      },
      {
        role: 'prefill',
        model: 'default',
        routingGroup: 'default',
        conditionalDisaggregation: false,
        temperature: 0.5,
        now: 77,
      },
    ])
  })

  it('select on their own, from the same seeded entropy in any process', () => {
    const run = () => {
      const core = coreOf()
      return (['aggregated', 'decode'] as const).flatMap((role) => {
        const { table, selector } = core.partition({ role })
        for (let id = 0n; id < 8n; id++) table.upsertWorker({ workerId: id })
        return Array.from({ length: 12 }, () => nameOf(selector.select(request())))
      })
    }
    const picks = run()
    expect(run()).toEqual(picks)
    expect(picks.slice(0, 12)).not.toEqual(picks.slice(12))
  })

  it('removed dispose of their policy object and are built afresh', () => {
    let disposed = 0
    const policy = tinyPolicy({ create: () => ({ dispose: () => void disposed++ }) })
    const core = coreOf({}, { catalog: new PolicyCatalog().withDefault(policy) })
    const first = core.partition({ role: 'decode' })
    first.table.upsertWorker({ workerId: 1n })
    expect([core.remove({ role: 'decode' }), core.remove({ role: 'decode' })]).toEqual([true, false])
    expect([disposed, core.partitions]).toEqual([1, []])
    expect(core.partition({ role: 'decode' }).table.slotCount).toBe(0)
    core.partition({ role: 'prefill' })
    core.dispose()
    core.dispose()
    expect([disposed, core.partitions]).toEqual([3, []])
  })

  it('of a role that nobody serves fail, and leave nothing behind', () => {
    const core = coreOf({}, { catalog: new PolicyCatalog() })
    expect(codeOf(() => core.partition({ role: 'encode' }))).toBe('ROUTER_POLICY_DEFAULT_MISSING')
    expect(core.partitions).toEqual([])
  })

  it('without WebAssembly decide the same', () => {
    const run = (webAssembly: boolean) => {
      const { table, selector } = coreOf({}, { webAssembly }).partition({ role: 'aggregated' })
      expect(table.memory.webAssemblyMemory !== undefined).toBe(webAssembly)
      for (let id = 0n; id < 21n; id++) {
        table.upsertWorker({ workerId: id })
        table.setLoad(table.slotOf(id, 0), Number(id % 7n) * 19, Number(id % 5n), Number(id % 3n))
        table.setOverlap(table.slotOf(id, 0), Number(id % 4n), 1, 0, Number(id % 4n) + 0.75, 12)
      }
      table.setOverloadedWorkers([3n, 4n])
      const { rows } = selector.explain(request({ hasTierMatches: true }))
      return [rows, Array.from({ length: 10 }, () => nameOf(selector.select(request())))]
    }
    expect(run(false)).toEqual(run(true))
  })

  it('report warnings with the instance they come from', () => {
    const warnings: RouterWarning[] = []
    const policy = tinyPolicy({
      roles: ['decode'],
      create: (_parameters, scope) => ({ picker: firstAfter(() => scope.warnOnce('odd', 1n, 0)) }),
    })
    const core = coreOf(
      { decode: 'mine', instances: [{ name: 'mine', type: 'tiny' }] },
      {
        catalog: new PolicyCatalog().withDefault(policy).register(policy),
        onWarning: (warning) => warnings.push(warning),
      },
    )
    for (const role of ['decode', 'prefill'] as const) {
      const { table, selector } = core.partition({ role })
      table.upsertWorker({ workerId: 1n })
      selector.select(request())
    }
    expect(warnings.map(({ code, policy: name }) => `${name} ${code}`)).toEqual([
      'mine odd',
      'default role_not_intended',
      'default odd',
    ])
  })
})

describe('routers of partitions', () => {
  const tokens = Uint32Array.from({ length: 64 }, (_, at) => at)
  const key = { role: 'aggregated' } as const

  it('are built on first use over the table and selector of their partition, with a block size of their own if asked', () => {
    const core = coreOf({}, { config: { blockSize: 32 } })
    const router = core.router(key)
    expect(core.router({ ...key, model: 'default' }, 8)).toBe(router)
    expect(router.partition).toBe(core.partition(key))
    expect([router.blockSize, core.router({ ...key, model: 'llama' }, 8).blockSize]).toEqual([32, 8])
    expect(codeOf(() => core.router({ ...key, model: 'wrong' }, 0))).toBe('ROUTER_BAD_REQUEST')
    router.upsertWorker({ workerId: 1n })
    expect(router.reserve({ requestId: 'r', tokens })).toMatchObject({ requiredBlocks: 2 })
    expect(router.ledger.loadOf(router.slotOf(1n, 0)).activeBlocks).toBe(2)
  })

  it('share nothing but the most bookings of a process', () => {
    const core = coreOf({}, { config: { assumesKvReuse: false, approximateCachePolicy: 'lru' } })
    const keys = [
      key,
      { ...key, model: 'llama' },
      { ...key, routingGroup: 'blue' },
      { role: 'decode' },
    ] as const
    const [first, ...others] = keys.map((one) => core.router(one)) as [PartitionRouter, ...PartitionRouter[]]
    const record = { workerId: 1n, dataParallelSize: 2, totalKvBlocks: 64 }
    for (const router of [first, ...others]) router.upsertWorker(record)
    first.upsertWorker({ workerId: 2n, hasEvents: true })
    for (const router of others) router.reserve({ requestId: 'same', tokens: tokens.subarray(0, 32) })
    const before = others.map((router) => router.snapshot())
    first.reserve({ requestId: 'same', tokens, pinnedWorker: { workerId: 1n, dpRank: 1 } })
    first.cleared(2n, 0)
    first.partition.table.setOverloadedWorkers([1n])
    first.reserve({ requestId: 'other', tokens })
    first.restartWorker(1n)
    first.removeWorker(2n)
    first.tick()
    expect(others.map((router) => router.snapshot())).toEqual(before)
    expect(others.map(({ ledger }) => [ledger.live, ledger.booked, ledger.budget.live])).toEqual([
      [1, 1, 3],
      [1, 1, 3],
      [1, 1, 3],
    ])
    expect(others.map((router) => router.free('same'))).toEqual([true, true, true])
    expect([first.ledger.budget.live, first.free('same')]).toEqual([0, false])
  })

  it('removed give back bookings and listeners, and are built afresh; one that was removed routes no more', () => {
    const core = coreOf()
    const other = core.router({ role: 'decode' })
    other.upsertWorker({ workerId: 1n })
    other.reserve({ requestId: 'stays', tokens })
    const heard = listenersOf(core.partition(key).table)
    const router = core.router(key)
    expect(heard.listeners).toBeGreaterThan(0)
    router.upsertWorker({ workerId: 1n })
    for (const requestId of ['one', 'two']) router.reserve({ requestId, tokens })
    const { budget } = router.ledger
    expect(budget.live).toBe(3)
    expect([core.remove(key), core.remove(key)]).toEqual([true, false])
    expect([budget.live, router.ledger.live, other.ledger.live, heard.listeners]).toEqual([1, 0, 1, 0])
    const { table } = router.partition
    table.removeWorker(1n)
    table.upsertWorker({ workerId: 1n, dataParallelSize: 40 })
    for (const call of [
      () => router.select({ tokens }),
      () => router.reserve({ requestId: 'three', tokens }),
      () => router.explain({ tokens }),
      () => router.potentialLoads({ tokens }),
    ])
      expect(call).toThrow(TypeError)
    expect([budget.live, router.free('one')]).toEqual([1, false])
    router.dispose()
    const fresh = core.router(key)
    expect(fresh).not.toBe(router)
    expect(fresh.snapshot()).toMatchObject({ ranks: [], bookings: 0 })
    core.dispose()
    expect([budget.live, other.ledger.live, core.partitions]).toEqual([0, 0, []])
    core.dispose()
    expect(budget.live).toBe(0)
  })
})

describe('policies', () => {
  it('lists every instance, configured or built in, with where it serves', () => {
    const core = weightedCore()
    core.partition({ role: 'decode' })
    core.partition({ role: 'decode', model: 'llama' })
    core.partition({ role: 'encode' })
    const listed = core.policies()
    expect(
      listed.map(({ name, type, roles, revision, runtime }) => ({ name, type, roles, revision, runtime })),
    ).toEqual([
      { name: 'heavy', type: 'tiny', roles: ['prefill', 'decode'], revision: 1, runtime: false },
      { name: 'light', type: 'tiny', roles: ['encode'], revision: 1, runtime: true },
      { name: 'unused', type: 'tiny', roles: [], revision: 1, runtime: false },
      { name: 'default', type: 'dynamo-default-cost-fn', roles: ['aggregated'], revision: 1, runtime: false },
    ])
    expect(listed[0]).toMatchObject({
      version: '1.2.3',
      stability: 'stable',
      partitions: ['default/default/decode', 'llama/default/decode'],
      parameters: { weight: 5 },
      startParameters: { weight: 5 },
      inputs: ['load'],
    })
    expect(listed[0]!.runtimeParameters).toContain('decay.half_life_ms')
    expect(listed[0]!.parameterSchema).toMatchObject({ type: 'object', additionalProperties: false })
    expect(listed[0]!.parameterSchema.properties).toHaveProperty('decay')
    expect(listed[1]!.inputs).toEqual(['load', 'cache'])
    expect([listed[2]!.partitions, listed[2]!.inputs]).toEqual([[], []])
    expect(listed[3]).toMatchObject({ package: '@router/policy-default', parameters: {}, partitions: [] })
  })
})

describe('patches by name', () => {
  it('reach every partition and role of the instance, and nobody else', () => {
    const log: ObjectLog[] = []
    const core = weightedCore(log)
    core.partition({ role: 'decode' })
    core.partition({ role: 'decode', model: 'llama' })
    core.partition({ role: 'prefill' })
    core.partition({ role: 'encode' })
    expect(core.patch('heavy', { weight: 2 }, 1)).toEqual({
      revision: 2,
      before: { weight: 5 },
      after: { weight: 2 },
    })
    expect(log.map(({ reconfigured }) => reconfigured.length)).toEqual([1, 1, 1, 0])
    expect(core.policies().map(({ revision }) => revision)).toEqual([2, 1, 1, 1])
    expect(core.policies()[0]).toMatchObject({ parameters: { weight: 2 }, startParameters: { weight: 5 } })
    expect(core.patch('heavy', { weight: 3 }, undefined, { dryRun: true }).revision).toBe(2)
    expect(codeOf(() => core.patch('heavy', { weight: 3 }, 1))).toBe('ROUTER_PATCH_CONFLICT')
  })

  it('reach the built-in default of all roles that use it', () => {
    const core = coreOf()
    const roles = ['aggregated', 'prefill', 'decode', 'encode'] as const
    const selectors = roles.map((role) => core.partition({ role }).selector)
    core.patch('default', { router_temperature: 0.3 })
    expect(selectors.map(({ instance }) => instance.revision)).toEqual([2, 2, 2, 2])
    expect(new Set(selectors.map(({ instance }) => instance)).size).toBe(1)
  })

  it('of an unknown instance say which there are', () => {
    const { code, details } = caught(() => weightedCore().patch('nobody', {}))
    expect(code).toBe('ROUTER_POLICY_INSTANCE_UNKNOWN')
    expect(details).toEqual({ name: 'nobody', available: 'default, heavy, light, unused' })
    const empty = coreOf({}, { catalog: new PolicyCatalog() })
    expect(caught(() => empty.patch('nobody', {})).details).toEqual({ name: 'nobody', available: '<none>' })
  })
})
