import { ConfigError } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { workerIdOf } from '../../src/workers/sources/worker-entry.js'
import { parseWorkerDns, parseWorkerFlag, parseWorkerUrls } from '../../src/workers/sources/worker-flags.js'

const url = 'http://127.0.0.1:8000'

/** What a text is refused with. */
function refusal(parse: () => unknown): ConfigError {
  try {
    parse()
  } catch (error) {
    expect(ConfigError.isInstance(error)).toBe(true)
    const refused = error as ConfigError
    expect(refused.code).toBe('ROUTER_CONFIG_INVALID')
    return refused
  }
  throw new Error('nothing was refused')
}

describe('--worker', () => {
  it('needs a URL only; the id follows from it', () => {
    expect(parseWorkerFlag(url).registration).toMatchObject({
      endpoint: url,
      workerId: 5_015_981_361_512_006_974n,
    })
    for (const same of [`${url}/`, `${url}//`, ` ${url} `])
      expect(parseWorkerFlag(same).registration.workerId).toBe(workerIdOf(url))
    expect(workerIdOf(`${url}/v2`)).not.toBe(workerIdOf(url))
  })

  it('takes every kind of field', () => {
    const text =
      `${url},worker_id=18446744073709551615,model_name=llama=3,role=decode,block_size=32,data_parallel_size=2,` +
      'kv_events_endpoint=tcp://*:5557,kv_events_bind=true,taints=a|b,topology_domains.zone=z.1,topology_domains.rack=r,' +
      'kv_events_endpoints.1=tcp://h:1,kv_transfer_preferred_weight=-0.5,api_key_file=key'
    expect(parseWorkerFlag(text)).toEqual({
      apiKeyFile: 'key',
      registration: {
        endpoint: url,
        workerId: 18_446_744_073_709_551_615n,
        modelName: 'llama=3',
        role: 'decode',
        blockSize: 32,
        dataParallelSize: 2,
        kvEventsEndpoint: 'tcp://*:5557',
        kvEventsBind: true,
        taints: ['a', 'b'],
        topologyDomains: new Map([
          ['zone', 'z.1'],
          ['rack', 'r'],
        ]),
        kvEventsEndpoints: new Map([[1, 'tcp://h:1']]),
        kvTransferPreferredWeight: -0.5,
        routerHintSourceControlEndpoints: undefined,
      },
    })
  })

  it.each([
    '127.0.0.1:8000',
    'ftp://h:1',
    '',
    'http://',
    'http://u:p@h:1',
    'http://h:1?a',
    'http://h:1#a',
    'http://h:99999',
  ])('refuses %s', (text) => {
    expect(refusal(() => parseWorkerFlag(text)).issues[0]!.accepted).toContain('http://host:port')
  })

  it('names the near key (U53)', () => {
    const { message } = refusal(() => parseWorkerFlag(`${url},blok_size=16`))
    expect(message).toContain("unknown key 'blok_size'; did you mean 'block_size'?")
    expect(message).toContain('model_name')
  })

  it.each([
    'block_size=0',
    'block_size=16.5',
    'block_size=x',
    'block_size=',
    'block_size',
    'block_size=16,block_size=16',
    'role=server',
    'kv_events_bind=yes',
    'worker_id=18446744073709551616',
    'worker_id=-1',
    'data_parallel_size=4097',
    'topology_domains=z',
    'block_size.a=1',
    'kv_events_endpoints.x=tcp://h:1',
    'model_name=',
    '__proto__=1',
    'topology_domains.__proto__=a',
    'constructor=1',
    'toString=1',
  ])('refuses %s, and names it', (pairs) => {
    const { message } = refusal(() => parseWorkerFlag(`${url},${pairs}`))
    expect(message).toMatch(/^--worker: /)
    expect(message).toContain('accepted: ')
  })
})

it('--worker-urls takes a comma list', () => {
  expect(parseWorkerUrls(`${url}, http://b:1,`).map(({ registration }) => registration.endpoint)).toEqual([
    url,
    'http://b:1',
  ])
  expect(refusal(() => parseWorkerUrls(`${url},b:1`)).message).toMatch(/^--worker-urls: 'b:1' is no URL/)
})

it('--worker-dns takes a name and a port', () => {
  expect(parseWorkerDns('vllm.prod.svc.cluster.local:8000')).toEqual({
    host: 'vllm.prod.svc.cluster.local',
    port: 8000,
  })
  for (const text of ['host', 'host:0', 'host:70000', 'http://host:1', ':1', '-a:1'])
    expect(refusal(() => parseWorkerDns(text)).issues[0]!.accepted).toBe('host:port')
})
