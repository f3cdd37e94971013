import { selectionSettings } from '@router/config'
import { ConfigError, type ConfigIssue } from '@router/sdk'
import { Command } from 'commander'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addServeOptions } from '../../src/commands/serve-options.js'
import { serveSettings } from '../../src/settings/serve-setting-table.js'
import { readServeSettings } from '../../src/settings/serve-settings.js'
import type { ServeSetting, SettingValue } from '../../src/settings/setting.js'
import { workerVariables } from '../../src/workers/sources/read-worker-sources.js'

type Row = readonly [flag: string, alias: string | undefined, fallback: unknown]

/** Dynamo's variable is `DYN_` and the flag. */
const like = (flag: string, fallback?: unknown): Row => [
  flag,
  `DYN_${flag.replaceAll('-', '_').toUpperCase()}`,
  fallback,
]
const ours = (flag: string, fallback?: unknown): Row => [flag, undefined, fallback]

/** The tables of host.md 16.1 and 16.2, but for settings of policies and workers. */
const rows: readonly Row[] = [
  like('router-mode', 'kv'),
  like('router-min-initial-workers', 0),
  like('router-queue-threshold'),
  like('router-queue-policy', 'fcfs'),
  ['router-kv-events', 'DYN_ROUTER_USE_KV_EVENTS', true],
  like('router-ttl-secs', 120),
  like('router-max-tree-size', 1_048_576),
  like('router-prune-target-ratio', 0.8),
  like('router-approximate-cache-policy', 'ttl'),
  like('router-predicted-ttl-secs'),
  like('router-track-active-blocks', true),
  like('router-track-output-blocks', false),
  like('router-assume-kv-reuse', true),
  like('router-track-prefill-tokens', true),
  like('router-replica-sync', false),
  like('decode-fallback', false),
  like('router-session-affinity-ttl-secs'),
  like('router-session-affinity-mode', 'hard'),
  like('router-conditional-disagg', false),
  like('router-conditional-disagg-config'),
  like('router-conditional-disagg-decode-busy-threshold'),
  like('router-conditional-disagg-prefill-busy-threshold'),
  ['load-aware', 'DYN_ROUTER_LOAD_AWARE', false],
  like('min-remote-prefill-tokens'),
  like('session-from-prefix-tokens'),
  like('local-continuations', false),
  like('kv-migration', false),
  like('kv-migration-min-tokens', 8192),
  like('router-active-request-expiry-secs', 300),
  like('router-overlap-refresh-after-secs', 10),
  ['inhibited-duration-secs', 'DYN_RUNTIME_INHIBITED_DURATION_SECS', 5],
  ours('http-host', '127.0.0.1'),
  ours('http-port', 8000),
  ['no-admin-api', 'DYN_DISABLE_FRONTEND_ADMIN_API', false],
  ['overload-status-code', 'DYN_HTTP_OVERLOAD_STATUS_CODE', 529],
  like('http-body-limit-mb', 192),
  like('http-graceful-shutdown-timeout-secs', 120),
  like('http-sse-keep-alive-interval-ms', 0),
  ours('drain-grace-secs', 5),
  ours('http-keep-alive-secs', 75),
  ours('http-buffer-limit-mb', 1024),
  ours('retry-limit', 2),
  ours('connect-timeout-secs', 2),
  ours('first-byte-timeout-secs', 600),
  ours('idle-timeout-secs', 300),
  ours('request-timeout-secs', 1800),
  ours('upstream-keep-alive-secs', 4),
  ...['tokenizer', 'chat-template', 'model-alias', 'api-key-file', 'worker-allow'].map((flag) => ours(flag)),
  ...['response-headers', 'log-format', 'policy', 'trusted-routing-headers'].map((flag) => ours(flag)),
  ours('tokenize-budget-ms', 100),
  ours('log-level', 'info'),
  like('active-decode-blocks-threshold'),
  like('active-prefill-tokens-threshold'),
  like('active-prefill-tokens-threshold-frac'),
  ours('migration-limit', 0),
  ours('migration-max-seq-len'),
  like('admission-control'),
  ['disable-nvext', 'DYN_DISABLE_FRONTEND_NVEXT', false],
  ours('selection-cache-ttl-secs', 120),
  ours('selection-cache-max-entries', 4096),
  ours('selection-cache-max-bytes', 268_435_456),
  ...['admin-token-file', 'audit-log', 'nats-url', 'cluster', 'indexer-peers', 'metrics-prefix'].map((flag) =>
    ours(flag),
  ),
  ours('max-requests-per-rank'),
  // Of other sections: 14.1, 14.2, 14.9, 13.2, 5.2, 3.1, 2.9; and secrets, which have no flag.
  ours('selection-port'),
  ours('decision-records-per-second', 10),
  ours('inject-usage', true),
  ours('drain-timeout-secs', 300),
  ours('max-index-blocks', 16_777_216),
  ours('index-rebuild-horizon-secs', 600),
  ours('overload-retry-after-secs', 1),
  ours('admin-token'),
  ours('api-keys'),
]

/** Settings of policies in 16.1: all of them have an alias like their flag. */
const policyFlags = [
  'router-policy-config',
  'router-prefill-policy',
  'router-decode-policy',
  'router-worker-selection-policy',
  'router-kv-overlap-score-credit',
  'router-kv-overlap-score-credit-decay',
  'router-kv-overlap-score-weight',
  'router-decode-active-request-weight',
  'router-temperature',
  'router-prefill-load-scale',
  'shared-cache-multiplier',
  'shared-cache-type',
  'encoder-cuda-to-cpu-ratio',
  'router-host-cache-hit-weight',
  'router-disk-cache-hit-weight',
]

const table: readonly ServeSetting[] = Object.values(serveSettings)
const settingOf = (flag: string): ServeSetting => table.find((one) => one.flag === flag)!
const variableOf = (flag: string) =>
  `ROUTER_${flag
    .replaceAll('-', '_')
    .toUpperCase()
    .replace(/^ROUTER_/, '')}`

/** What the environment makes of a setting; its faults. */
function read(environment: Record<string, string>): {
  given?: (flag: string) => SettingValue
  issues: readonly ConfigIssue[]
} {
  try {
    const { given } = readServeSettings({ environment })
    return { given: (flag) => given.get(flag)?.value, issues: [] }
  } catch (error) {
    if (!ConfigError.isInstance(error)) throw error
    return { issues: error.issues }
  }
}

describe('C1: the tables of settings', () => {
  it('have these rows and no others', () => {
    expect(table.map(({ flag }) => flag).toSorted()).toEqual(rows.map(([flag]) => flag).toSorted())
    expect(
      Object.values(selectionSettings)
        .map(({ flag }) => flag)
        .toSorted(),
    ).toEqual(policyFlags.toSorted())
  })

  it.each(rows)('--%s: alias %s, default %s, a variable and a flag of its own', (flag, alias, fallback) => {
    const one = settingOf(flag)
    expect([one.alias, one.fallback, one.variable]).toEqual([alias, fallback, variableOf(flag)])
    const all = table.flatMap(({ variable, alias: other }) =>
      other === undefined ? [variable] : [variable, other],
    )
    expect(all.filter((name) => name === one.variable || name === alias)).toHaveLength(
      alias === undefined ? 1 : 2,
    )
  })

  it.each(policyFlags)('--%s: variable and alias follow from the flag', (flag) => {
    const { variable, aliases } = Object.values(selectionSettings).find((one) => one.flag === flag)!
    expect([variable, aliases[0]]).toEqual([
      variableOf(flag),
      `DYN_${flag.replaceAll('-', '_').toUpperCase()}`,
    ])
  })

  it('are flags of the command, each once; those of workers too', () => {
    const command = new Command('serve')
    addServeOptions(command)
    const flags = command.options.map(({ long }) => long!)
    expect(new Set(flags).size).toBe(flags.length)
    const workers = workerVariables.map(
      (name) => `--${name.slice('ROUTER_'.length).toLowerCase().replaceAll('_', '-')}`,
    )
    const shown = table.filter(({ isSecret }) => !isSecret).map(({ flag }) => `--${flag}`)
    const wanted = [...shown, ...policyFlags.map((flag) => `--${flag}`), ...workers, '--host', '--port']
    expect(flags.filter((flag) => !flag.startsWith('--no-') || wanted.includes(flag)).toSorted()).toEqual(
      wanted.toSorted(),
    )
    const switches = table.filter(({ kind, flag }) => kind === 'switch' && !flag.startsWith('no-'))
    for (const { flag } of switches) expect(flags).toContain(`--no-${flag}`)
  })
})

/** A text, and whether a setting takes it. */
function textOf({
  kind,
  minimum,
  maximum,
  fallback,
}: ServeSetting): fc.Arbitrary<readonly [string, boolean]> {
  if (kind === 'switch')
    return fc
      .constantFrom('true', 'false', '1', '0', 'yes', 'TRUE', '')
      .map((text) => [text, /^(true|false|1|0)$/.test(text)])
  if (typeof kind !== 'string')
    return fc
      .constantFrom(...kind, 'other', kind[0]!.toUpperCase(), '')
      .map((text) => [text, kind.includes(text)])
  const isInRange = (value: number): boolean => value >= minimum && value <= maximum
  const whole = fc
    .integer({ min: -10, max: 2 ** 31 })
    .map((value): [string, boolean] => [String(value), isInRange(value)])
  const edges = [minimum, maximum, minimum - 1, maximum + 1].filter(
    (edge) => Number.isFinite(edge) && edge < 1e15,
  )
  const edge = fc.constantFrom(...edges).map((value): [string, boolean] => {
    const isWhole = kind !== 'integer' || Number.isInteger(value)
    return [String(value), isInRange(value) && isWhole]
  })
  const broken = fc.integer({ min: 0, max: 1000 }).map((value): [string, boolean] => {
    return [String(value + 0.5), kind === 'number' && isInRange(value + 0.5)]
  })
  const words = fc
    .constantFrom('', ' ', 'NaN', 'Infinity', '0x10', '1_000', '1,5', 'None')
    .map((text): [string, boolean] => [text, text === 'None' && fallback === undefined])
  return fc.oneof(whole, edge, broken, words)
}

const checked = table.filter(({ kind }) => !['text', 'list', 'pairs'].includes(kind as string))

describe('C1: a text of a setting', () => {
  it('is taken, or refused with key, value and what is accepted, whether flag, variable or alias', () => {
    const sample = fc.constantFrom(...checked).chain((one) => fc.tuple(fc.constant(one), textOf(one)))
    fc.assert(
      fc.property(sample, fc.constantFrom('flag', 'variable', 'alias'), ([one, [text, isTaken]], place) => {
        const { flag, variable, alias } = one
        const origin = place === 'flag' ? `--${flag}` : place === 'alias' ? (alias ?? variable) : variable
        let issues: readonly ConfigIssue[] = []
        try {
          readServeSettings(
            place === 'flag' ? { flags: { [flag]: text } } : { environment: { [origin]: text } },
          )
        } catch (error) {
          if (!ConfigError.isInstance(error)) throw error
          ;({ issues } = error)
        }
        const own = issues.filter(({ message }) => message.startsWith(`${origin} cannot be`))
        expect(own).toHaveLength(isTaken ? 0 : 1)
        if (isTaken) return
        expect(own[0]).toMatchObject({ path: [origin], value: text, code: 'ROUTER_CONFIG_INVALID' })
        expect(own[0]!.message).toContain(`'${text}'; accepted: ${own[0]!.accepted}`)
      }),
      { seed: 16, numRuns: 600 },
    )
  })

  it('wins as a flag over its variable, that over its alias, which is told', () => {
    const numbers = checked.filter(({ kind, minimum }) => kind === 'integer' && minimum <= 1)
    fc.assert(
      fc.property(fc.constantFrom(...numbers), fc.subarray([0, 1, 2], { minLength: 1 }), (one, places) => {
        const { flag, variable, alias } = one
        const names = ['', variable, alias ?? '']
        const said = (place: number) => places.includes(place) && (place === 0 || names[place] !== '')
        const environment: Record<string, string> = {}
        for (const place of [1, 2]) if (said(place)) environment[names[place]!] = String(10 + place)
        const { given, warnings } = readServeSettings({
          environment,
          ...(said(0) ? { flags: { [flag]: '10' } } : {}),
        })
        const first = [0, 1, 2].find(said)
        expect(given.get(flag)?.value).toBe(first === undefined ? undefined : 10 + first)
        expect(warnings.map(({ code }) => code)).toEqual(said(1) && said(2) ? ['alias_disagrees'] : [])
      }),
      { seed: 17, numRuns: 200 },
    )
  })

  it('that lists hosts has every form of them', () => {
    const hosts = [
      'gpu-1',
      '*.gpu.internal',
      '10.0.0.0/8',
      '10.1.2.3',
      '::1',
      'fd00::/8',
      '::ffff:10.0.0.1/128',
    ]
    expect(read({ ROUTER_WORKER_ALLOW: hosts.join(', ') }).given!('worker-allow')).toEqual(hosts)
  })

  it('that is a list or a map of models may not say a key twice', () => {
    expect(read({ ROUTER_MODEL_ALIAS: 'a=b, c=d' }).given!('model-alias')).toEqual(
      new Map([
        ['a', 'b'],
        ['c', 'd'],
      ]),
    )
    for (const [name, value] of [
      ['ROUTER_MODEL_ALIAS', 'a=b,a=c'],
      ['ROUTER_MODEL_ALIAS', 'a'],
      ['ROUTER_TOKENIZER', 'x,y'],
      ['ROUTER_METRICS_PREFIX', '1x'],
      ['ROUTER_NATS_URL', 'http://x'],
      ['ROUTER_INDEXER_PEERS', 'http://x,y'],
      ['ROUTER_WORKER_ALLOW', 'http://x'],
      ['ROUTER_WORKER_ALLOW', '10.0.0.0/33'],
      ['ROUTER_WORKER_ALLOW', 'name/8'],
      ['ROUTER_WORKER_ALLOW', '::1/129'],
    ] as const)
      expect(read({ [name]: value }).issues).toMatchObject([{ path: [name], value }])
  })
})
