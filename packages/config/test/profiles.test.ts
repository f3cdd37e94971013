import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseRouterPolicy } from '../src/index.js'
import { refusal } from './support.js'

interface PolicyFileCase {
  readonly id: string
  readonly name: string
  readonly yaml: string
  readonly accepted: boolean
  /** We accept it although release 1.6.1 does not. */
  readonly ours?: boolean
}

const carried = readFileSync(new URL('data/policy-files.jsonl', import.meta.url), 'utf8')
const cases = carried
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as PolicyFileCase)

test.each(cases)('$id $name', async ({ yaml, accepted, ours }) => {
  if (accepted || ours === true) expect(parseRouterPolicy(yaml)).toBeDefined()
  else expect((await refusal(() => parseRouterPolicy(yaml))).code).toBe('ROUTER_CONFIG_INVALID')
})

const recorded = new URL('../../../../shared/vectors/rust-queue.jsonl', import.meta.url)
test.skipIf(!existsSync(recorded))('the carried cases are the recorded ones', () => {
  const lines = readFileSync(recorded, 'utf8')
    .split('\n')
    .filter((line) => line.includes('"kind":"policy-file"'))
  expect(carried).toBe(`${lines.join('\n')}\n`)
})

const matrix = `default_policy_family: chat
uncached_isl_buckets: [{min_tokens: 0, bucket: short}, {min_tokens: 4096, bucket: long}]
policy_classes:
  - {name: chat-short, policy_family: chat, cache_bucket: short, quantum: 4096, prefill_busy_threshold_frac: 2.0}
  - {name: chat-long, policy_family: chat, cache_bucket: long, quantum: 1024, prefill_busy_threshold_frac: 1.0, queue_policy: wspt}
  - {name: probes, quantum: 64, busy_worker_ratio: 1}
`
const flat = `default_policy_class: interactive
policy_classes:
  - {name: interactive, slo_ms: 2000, quantum: 4096, prefill_busy_threshold_frac: 1.0, request_queue_limit_per_worker: 64}
  - {name: batch, slo_ms: 60000, quantum: 18446744073709551615, raw_isl_token_queue_limit_per_worker: 500000}
`
const indented = (yaml: string) => yaml.replaceAll(/^/gmu, '    ').trimEnd()

describe('both forms', () => {
  test('matrix', () => {
    expect(parseRouterPolicy(matrix).profile).toMatchObject({
      form: 'matrix',
      default_policy_family: 'chat',
      uncached_isl_buckets: [
        { min_tokens: 0, bucket: 'short' },
        { min_tokens: 4096, bucket: 'long' },
      ],
      policy_classes: [
        { name: 'chat-short', quantum: 4096 },
        { queue_policy: 'wspt' },
        { name: 'probes', busy_worker_ratio: 1 },
      ],
    })
  })

  test('flat, with a worker selection; a quantum beyond 2^53 - 1 counts as that much', () => {
    const { profile, workerSelection } = parseRouterPolicy(`${flat}worker_selection: {decode: default}\n`)
    expect(profile).toMatchObject({
      form: 'flat',
      default_policy_class: 'interactive',
      policy_classes: [{ slo_ms: 2000 }, {}],
    })
    expect(profile!.policy_classes[1]!.quantum).toBe(Number.MAX_SAFE_INTEGER)
    expect(workerSelection).toEqual({ decode: 'default' })
  })

  test('of single models', () => {
    const { profile, models } = parseRouterPolicy(
      `models:\n  org/m-1:\n${indented(flat)}\n  2.0:\n${indented(flat)}\n`,
    )
    expect(profile).toBeUndefined()
    expect([...models.keys()]).toEqual(['org/m-1', '2.0'])
  })

  test('one form per file', async () => {
    const { issues } = await refusal(() => parseRouterPolicy(`${matrix}models:\n  m:\n${indented(flat)}\n`))
    expect(issues).toMatchObject([
      { path: ['models', 'm'], line: 8, accepted: 'one form for the whole file' },
    ])
  })

  test.each([
    ['both defaults', `${matrix}default_policy_class: probes\n`, 'mixes two forms'],
    ['classes alone', 'policy_classes: [{name: a, quantum: 1}]\n', 'needs the keys of one form'],
  ])('%s: both forms are shown', async (_what, yaml, words) => {
    const { issues } = await refusal(() => parseRouterPolicy(yaml))
    expect(issues).toHaveLength(1)
    expect(issues[0]!.message).toContain(words)
    expect(issues[0]!.accepted).toMatch(/^matrix: .*; flat: /u)
  })

  test.each([
    ['no classes', 'default_policy_class: a\n', ['policy_classes']],
    ['no buckets', matrix.replace(/^uncached.*$/mu, ''), ['uncached_isl_buckets']],
    ['no default family', matrix.replace(/^default.*$/mu, ''), ['default_policy_family']],
    ['no slo', flat.replace('slo_ms: 2000, ', ''), ['policy_classes', 0, 'slo_ms']],
    ['slo 0', flat.replace('slo_ms: 2000', 'slo_ms: 0'), ['policy_classes', 0, 'slo_ms']],
    [
      'a queue policy in the flat form',
      flat.replace('slo_ms: 2000', 'slo_ms: 2000, queue_policy: fcfs'),
      ['policy_classes', 0, 'queue_policy'],
    ],
    [
      'an unlisted default class',
      flat.replace('default_policy_class: interactive', 'default_policy_class: x'),
      ['default_policy_class'],
    ],
    ['a quantum of 1.0', flat.replace('4096', '4096.0'), ['policy_classes', 0, 'quantum']],
    ['a quoted quantum', flat.replace('4096', "'4096'"), ['policy_classes', 0, 'quantum']],
    ['a ratio of 0', matrix.replace('ratio: 1', 'ratio: 0'), ['policy_classes', 2, 'busy_worker_ratio']],
    ['a ratio above 1', matrix.replace('ratio: 1', 'ratio: 1.5'), ['policy_classes', 2, 'busy_worker_ratio']],
    [
      'two classes of one bucket',
      matrix.replace('bucket: long, quantum', 'bucket: short, quantum'),
      ['policy_classes', 1, 'cache_bucket'],
    ],
    [
      'a bucket twice',
      matrix.replace('bucket: long}', 'bucket: short}'),
      ['uncached_isl_buckets', 1, 'bucket'],
    ],
    [
      'an incomplete model',
      `router: {}\nmodels: {m: {default_policy_class: a}}\n`,
      ['models', 'm', 'policy_classes'],
    ],
    ['an empty model', 'router: {}\nmodels: {m: {}}\n', ['models', 'm']],
    ['a model that is null', 'router: {}\nmodels: {m: }\n', ['models', 'm']],
    ['a model key of the root', 'models: {m: {router: {}}}\n', ['models', 'm', 'router']],
  ])('%s is refused', async (_what, yaml, path) => {
    const { code, issues } = await refusal(() => parseRouterPolicy(yaml))
    expect(code).toBe('ROUTER_CONFIG_INVALID')
    expect(issues.map((issue) => issue.path)).toContainEqual(path)
  })
})
