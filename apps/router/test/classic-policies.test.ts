import { describe, expect, test } from 'vitest'
import { explain, fileWith } from './support.js'

const policy = fileWith(`
worker_selection:
  aggregated: fewest
  prefill: turn
  decode: named
  encode: encoders
  instances:
    - { name: fewest, type: dynamo-least-loaded }
    - { name: turn, type: dynamo-round-robin }
    - { name: named, type: dynamo-direct }
    - { name: encoders, type: dynamo-device-aware-weighted }
`)
const fleet = (request = '{ prompt_tokens: 100 }') =>
  fileWith(`
request: ${request}
block_size: 16
workers:
  - { worker_id: 1, device_kind: cpu, ranks: [{ reservations: 1 }] }
  - { worker_id: 2, ranks: [{ reservations: 2 }, { reservations: 0 }] }
`)

const outputOf = async (role: string, request?: string, ...more: string[]): Promise<string> =>
  (await explain('--policy-config', policy, '--fleet', fleet(request), '--role', role, ...more)).output

describe('policies that look at no cache, by name from a policy file', () => {
  test('the worker with the fewest reservations, and by what it was chosen', async () => {
    const output = await outputOf('aggregated')
    expect(output).toMatch(/policy +'fewest', type dynamo-least-loaded .* of @router\/policy-classic/u)
    expect(output).toMatch(/mode +least-loaded/u)
    expect(output).toMatch(/chosen +worker 1, rank 0/u)
  })

  test('the first one in turn', async () => {
    expect(await outputOf('prefill')).toMatch(/mode +turn\n[^]*chosen +worker 1, rank 0/u)
  })

  test('the one that was named, or an error that says why not', async () => {
    const named = '{ prompt_tokens: 100, affinity_target: { worker_id: 2 } }'
    expect(await outputOf('decode', named)).toMatch(/chosen +worker 2, rank 0/u)
    expect(await outputOf('decode')).toMatch(/ROUTER_POLICY_FAILED[^]*target-required/u)
  })

  test('an encoder: CPU workers get their share, which the router sets', async () => {
    expect(await outputOf('encode')).toMatch(/chosen +worker 2, rank 1/u)
    const ratio = ['--encoder-cuda-to-cpu-ratio', '1']
    expect(await outputOf('encode', undefined, ...ratio)).toMatch(/mode +cpu\n[^]*chosen +worker 1, rank 0/u)
  })
})
