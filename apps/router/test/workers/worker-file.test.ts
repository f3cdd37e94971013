import { ConfigError } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { parseWorkerFile } from '../../src/workers/sources/worker-file.js'

const parse = (text: string) => parseWorkerFile(text, 'workers.yaml', '/etc/router')

/** Where a file is refused, with what code, and why. */
function refusal(text: string) {
  try {
    parse(text)
  } catch (error) {
    if (!ConfigError.isInstance(error)) throw error
    const { code, issues, message } = error as ConfigError
    return { code, message, line: issues[0]!.line, column: issues[0]!.column }
  }
  throw new Error('nothing was refused')
}

describe('a worker file', () => {
  it('lists records in YAML', () => {
    const [one, two] = parse(`
workers:
  - endpoint: http://10.0.0.1:8000/
  - endpoint: https://10.0.0.2
    worker_id: 18446744073709551615
    model_name: 12
    topology_domains: { zone: a }
    kv_events_endpoints: { 0: tcp://10.0.0.2:5557 }
    taints: [gpu]
    api_key_file: keys/two
`)
    expect(one!.registration.endpoint).toBe('http://10.0.0.1:8000')
    expect(two).toMatchObject({
      apiKeyFile: '/etc/router/keys/two',
      registration: {
        workerId: 18_446_744_073_709_551_615n,
        modelName: '12',
        topologyDomains: new Map([['zone', 'a']]),
        kvEventsEndpoints: new Map([[0, 'tcp://10.0.0.2:5557']]),
        taints: ['gpu'],
      },
    })
  })

  it('or in JSON', () => {
    const [worker] = parse(
      '{"workers": [{"endpoint": "http://a:1", "worker_id": 9007199254740993, "is_eagle": true}]}',
    )
    expect(worker!.registration).toMatchObject({ workerId: 9_007_199_254_740_993n, isEagle: true })
    expect(parse('{"workers": []}')).toEqual([])
  })

  it.each([
    ['', 1],
    ['workers:', 1],
    ['workers:\n  - endpoint: http://a:1\n    blok_size: 16\n', 3],
    ['workers:\n  - endpoint: http://a:1\n    block_size: 16.0\n', 3],
    ['workers:\n  - endpoint: a:1\n', 2],
    ['workers:\n  - model_name: m\n', 2],
    ['workers:\n  - endpoint: http://a:1\n  - endpoint: http://a:1/\n', 3],
    ['workers:\n  - endpoint: http://a:1\n    endpoint: http://b:1\n', 3],
    ['workers:\n  - endpoint: http://a:1\n    __proto__: { role: decode }\n', 3],
    ['workers: [{endpoint: "http://a:1"\n', 2],
    ['other: 1\nworkers: []\n', 1],
  ])('%j is refused at its line', (text, line) => {
    const { code, line: found, column } = refusal(text)
    expect(code).toMatch(/^ROUTER_CONFIG_(?:PARSE|INVALID)$/)
    expect([found, column! >= 1]).toEqual([line, true])
  })

  it('names the near key (U53)', () => {
    expect(refusal('workers:\n  - endpoint: http://a:1\n    kv_event_endpoint: x\n').message).toContain(
      "did you mean 'kv_events_endpoint'?",
    )
  })

  it('an alias bomb is refused', () => {
    const levels = Array.from({ length: 20 }, (_, level) => {
      const inner = Array.from({ length: 10 }, () => (level === 0 ? 'x' : `*l${level - 1}`)).join(', ')
      return `  l${level}: &l${level} [${inner}]`
    })
    expect(refusal(`a:\n${levels.join('\n')}\nworkers: *l19\n`).code).toMatch(/^ROUTER_CONFIG_/)
  })

  it('leaves the prototypes of objects alone', () => {
    refusal('workers:\n  - endpoint: http://a:1\n    topology_domains: { __proto__: { polluted: yes } }\n')
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })
})
