import { describe, expect, test } from 'vitest'
import { checkWorkerSelection } from '../src/check-sections.js'
import { loadRouterPolicy, parseRouterPolicy } from '../src/index.js'
import { catalog, refusal } from './support.js'

const lines = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => `${line(index)}\n`).join('')
const instances = (count: number, line: (index: number) => string): string =>
  `worker_selection:\n  instances:\n${lines(count, (index) => `    - ${line(index)}`)}`

describe('a file with many faults', () => {
  test.each([
    ['instances that are none', instances(100_000, () => '0')],
    ['empty instances', instances(60_000, () => '{}')],
    ['unknown keys', lines(20_000, (index) => `key${index}: 1`)],
    ['instances of one name', instances(20_000, () => '{name: a, type: plain}')],
    [
      'unknown buckets',
      `default_policy_family: f\nuncached_isl_buckets:\n${lines(4000, (index) => `  - {min_tokens: ${index}, bucket: b${index}}`)}` +
        `policy_classes:\n${lines(8000, (index) => `  - {name: c${index}, quantum: 1, policy_family: f, cache_bucket: x${index}}`)}`,
    ],
  ])('%s: shows 20, says how many more, and keeps 1,000', async (_what, text) => {
    const { code, message, issues } = await refusal(() => parseRouterPolicy(text))
    expect(code).toBe('ROUTER_CONFIG_INVALID')
    expect(issues).toHaveLength(1000)
    expect(message.match(/^router-policy\.yaml:\d/gmu)).toHaveLength(20)
    expect(message.endsWith('\nand at least 980 more'), message.slice(-200)).toBe(true)
    expect(message.length).toBeLessThan(20_000)
  })

  test('few beyond 20 are counted', async () => {
    const { message, issues } = await refusal(() => parseRouterPolicy(lines(23, (index) => `key${index}: 1`)))
    expect(issues).toHaveLength(23)
    expect(message.endsWith('\nand 3 more')).toBe(true)
  })

  test('unknown types', async () => {
    const text = instances(5000, (index) => `{name: i${index}, type: nothing}`)
    const { code, issues } = await refusal(() => loadRouterPolicy({ catalog: catalog(), text }))
    expect([code, issues.length]).toEqual(['ROUTER_POLICY_TYPE_UNKNOWN', 1000])
  })
})

/** So many instances, and how often their names were read. */
function countedSelection(count: number) {
  let reads = 0
  const instances = Array.from({ length: count }, (_, index) => ({
    get name() {
      reads++
      return `i${index}`
    },
    type: 'plain',
  }))
  return { selection: { aggregated: 'i1', instances }, reads: () => reads }
}

describe('a large file', () => {
  test.each<[string, (of: ReturnType<typeof countedSelection>['selection']) => unknown]>([
    ['is checked', (of) => checkWorkerSelection(of)],
    ['is resolved', (of) => catalog().resolve(of)],
  ])('%s without looking through all instances for each', (_what, work) => {
    const { selection, reads } = countedSelection(2000)
    work(selection)
    // A search through the list for each would read two million names.
    expect(reads()).toBeLessThan(40 * 2000)
  })

  test('above 1 MiB is refused by its bytes', async () => {
    const text = (bytes: number): string => `router: {}\n#${'é'.repeat((bytes - 12) / 2)}`
    expect(parseRouterPolicy(text(1024 * 1024)).router).toEqual({})
    const { code, issues } = await refusal(() => parseRouterPolicy(text(1024 * 1024 + 2)))
    expect([code, issues[0]?.accepted]).toEqual([
      'ROUTER_CONFIG_PARSE',
      'a file of at most 1048576 bytes (1 MiB)',
    ])
  })
})
