import { describe, expect, it } from 'vitest'
import { EndpointRules, loopbackHosts } from '../../src/fleet/endpoint-rules.js'
import { eventEndpointsOf } from '../../src/fleet/rank-endpoints.js'
import type { WorkerRegistration } from '../../src/fleet/worker-registration.js'

const verdictOf = (url: string, allowed = loopbackHosts) => {
  const verdict = new EndpointRules(allowed).judge(url)
  return 'why' in verdict ? 'refused' : `${verdict.isName ? 'name ' : ''}${verdict.host}:${verdict.port}`
}

describe('A8: an event URL of a worker that came through the API', () => {
  it.each([
    ['tcp://127.0.0.1:5557', '127.0.0.1:5557'],
    ['tcp://127.8.8.8:1', '127.8.8.8:1'],
    ['tcp://[::1]:5557', '::1:5557'],
    ['tcp://[::ffff:127.0.0.1]:5557', '::ffff:127.0.0.1:5557'],
    ['tcp://localhost:5557', 'name localhost:5557'],
    ['tcp://0x7f.1:5557', '127.0.0.1:5557'],
    ['tcp://2130706433:5557', '127.0.0.1:5557'],
  ])('%s is taken as %s on loopback', (url, verdict) => {
    expect(verdictOf(url)).toBe(verdict)
  })

  it.each([
    '',
    'bogus',
    'tcp://nohost',
    'tcp://127.0.0.1',
    'tcp://127.0.0.1:0',
    'tcp://127.0.0.1:65536',
    'tcp://127.0.0.1:123456',
    'tcp://*:5557',
    'tcp://:5557',
    'tcp://[::]:5557',
    'tcp://0.0.0.0:5557',
    'tcp://10.0.0.1:5557',
    'tcp://[::ffff:10.0.0.1]:5557',
    'tcp://167772161:5557',
    'tcp://169.254.169.254:80',
    'tcp://[fe80::1]:5557',
    'tcp://127.0.0.1:5557/path',
    'tcp://user@127.0.0.1:5557',
    'tcp://127.0.0.1%00:5557',
    'ipc:///run/events',
    'inproc://events',
    'http://127.0.0.1:5557',
    'TCP://127.0.0.1:5557',
    'udp://127.0.0.1:5557',
    'tcp://eth0;127.0.0.1:5557',
  ])('%s is refused', (url) => {
    expect(verdictOf(url)).toBe('refused')
  })

  it.each([
    ['tcp://10.1.2.3:1', ['10.0.0.0/8'], '10.1.2.3:1'],
    ['tcp://11.1.2.3:1', ['10.0.0.0/8'], 'refused'],
    ['tcp://10.1.2.3:1', ['10.1.2.3'], '10.1.2.3:1'],
    ['tcp://[2001:db8::7]:1', ['2001:db8::/32'], '2001:db8::7:1'],
    ['tcp://[2001:db9::7]:1', ['2001:db8::/32'], 'refused'],
    ['tcp://[::ffff:10.1.2.3]:1', ['10.0.0.0/8'], '::ffff:10.1.2.3:1'],
    ['tcp://gpu.test:1', ['gpu.test'], 'name gpu.test:1'],
    ['tcp://GPU.Test:1', ['gpu.test'], 'name gpu.test:1'],
    ['tcp://a.gpu.test:1', ['*.gpu.test'], 'name a.gpu.test:1'],
    ['tcp://gpu.test:1', ['*.gpu.test'], 'refused'],
    ['tcp://evilgpu.test:1', ['*.gpu.test'], 'refused'],
    ['tcp://127.0.0.1:1', [], 'refused'],
    ['tcp://localhost:1', [], 'refused'],
    ['tcp://169.254.169.254:1', ['0.0.0.0/0'], '169.254.169.254:1'],
  ])('%s with %j: %s', (url, allowed, verdict) => {
    expect(verdictOf(url, allowed)).toBe(verdict)
  })

  it.each([
    ['127.0.0.1', 'localhost', true],
    ['::1', 'localhost', true],
    // A name that is allowed may lead anywhere but to link-local and metadata addresses.
    ['10.0.0.1', 'localhost', true],
    ['169.254.169.254', 'localhost', false],
    ['fe80::1', 'localhost', false],
    ['::ffff:169.254.169.254', 'localhost', false],
    ['fd00:ec2::254', 'localhost', false],
    ['100.100.100.200', 'localhost', false],
    ['10.0.0.1', 'other.test', false],
    ['127.0.0.1', 'other.test', true],
  ])('resolved to %s from %s may be: %s', (address, name, mayBe) => {
    expect(new EndpointRules(loopbackHosts).refusalOf(address, name) === undefined).toBe(mayBe)
  })
})

describe('the addresses of ranks', () => {
  const rules = new EndpointRules(['10.0.0.0/8'])
  const endpointsOf = (rest: Partial<WorkerRegistration>, origin: 'api' | 'trusted' = 'api') => {
    const { byRank, missing, why } = eventEndpointsOf({ workerId: 1n, ...rest }, origin, rules)
    return {
      why: why !== undefined,
      missing,
      urls: [...byRank].map(([rank, { events, replay }]) => [rank, events, replay]),
    }
  }
  const base = 'tcp://10.0.0.1:5557'

  it.each<[string, Partial<WorkerRegistration>, unknown]>([
    ['an only rank', { kvEventsEndpoint: base, dataParallelStartRank: 3 }, [[3, base, undefined]]],
    [
      'a base for several',
      {
        kvEventsEndpoint: base,
        replayEndpoint: 'tcp://10.0.0.1:6000',
        dataParallelStartRank: 2,
        dataParallelSize: 2,
      },
      [
        [2, 'tcp://10.0.0.1:5559', 'tcp://10.0.0.1:6002'],
        [3, 'tcp://10.0.0.1:5560', 'tcp://10.0.0.1:6003'],
      ],
    ],
    [
      'a map, which wins over the base',
      { kvEventsEndpoint: base, kvEventsEndpoints: new Map([[1, 'tcp://10.9.9.9:1']]), dataParallelSize: 2 },
      [
        [0, base, undefined],
        [1, 'tcp://10.9.9.9:1', undefined],
      ],
    ],
  ])('%s', (_what, rest, urls) => {
    expect(endpointsOf(rest)).toEqual({ why: false, missing: [], urls })
  })

  it('may be missing, or of no use', () => {
    expect(endpointsOf({ dataParallelSize: 2 })).toEqual({ why: false, missing: [0, 1], urls: [] })
    // Each rank without one is told of, whatever is wrong with others.
    for (const first of ['nonsense', 'tcp://127.0.0.1:1']) {
      const kvEventsEndpoints = new Map([
        [0, first],
        [3, ''],
      ] as const)
      const { why, missing } = endpointsOf({ dataParallelSize: 4, kvEventsEndpoints })
      expect([why, missing]).toEqual([true, [1, 2, 3]])
    }
    expect(endpointsOf({ kvEventsEndpoint: '' }).missing).toEqual([0])
    expect(endpointsOf({ kvEventsEndpoint: base, replayEndpoint: 'x' }).why).toBe(true)
    expect(endpointsOf({ kvEventsEndpoint: 'tcp://10.0.0.1:65535', dataParallelSize: 2 }).why).toBe(true)
    expect(endpointsOf({ kvEventsEndpoint: base, kvEventsBind: true }).why).toBe(true)
  })

  it('of trusted sources may be any that sockets take', () => {
    for (const kvEventsEndpoint of ['ipc:///run/events', 'tcp://*:5557', 'tcp://192.168.0.1:1'])
      expect(endpointsOf({ kvEventsEndpoint, kvEventsBind: true }, 'trusted').why).toBe(false)
    expect(endpointsOf({ kvEventsEndpoint: 'bogus' }, 'trusted').why).toBe(true)
  })
})
