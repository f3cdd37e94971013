import { type Server, createServer } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { EndpointRules, loopbackHosts } from '../../src/fleet/endpoint-rules.js'
import { checkedLookup, engineClient } from '../../src/workers/engine-client.js'

const open: Server[] = []
afterEach(() => {
  for (const server of open.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

const ask = engineClient(new EndpointRules(loopbackHosts))
const options = { timeoutMs: 30_000, isTrusted: true, signal: new AbortController().signal }

/** A server's URL, and the requests that it got. */
async function serve(listener: Parameters<typeof createServer>[1]) {
  const server = createServer(listener as never)
  open.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('a question to an engine', () => {
  it('brings its status and body, and sends the key', async () => {
    const url = await serve((request, response) => response.writeHead(418).end(request.headers.authorization))
    expect(await ask(url, { ...options, apiKey: 'k' })).toEqual({ status: 418, body: 'Bearer k' })
    expect(await ask(url, options)).toEqual({ status: 418, body: '' })
  })

  it('does not follow redirects', async () => {
    const url = await serve((request, response) =>
      request.url === '/' ? response.writeHead(302, { location: '/there' }).end() : response.end('there'),
    )
    expect(await ask(url, options)).toEqual({ status: 302, body: '' })
  })

  it('tells a refusal, a time-out, a cut and a flood apart', async () => {
    const gone = await serve(() => undefined)
    open.pop()!.close()
    expect(await ask(gone, options)).toMatchObject({ failure: 'refused' })
    const silent = await serve(() => undefined)
    expect(await ask(silent, { ...options, timeoutMs: 20 })).toMatchObject({ failure: 'timeout' })
    const slow = await serve((_request, response) => response.write('a'))
    expect(await ask(slow, { ...options, timeoutMs: 20 })).toMatchObject({ failure: 'timeout' })
    const cut = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': 9 })
      response.write('a', () => response.destroy())
    })
    expect(await ask(cut, options)).toMatchObject({ failure: 'failed' })
    const flood = await serve((_request, response) => response.end(Buffer.alloc(8 * 1024 * 1024 + 1)))
    expect(await ask(flood, options)).toMatchObject({
      failure: 'failed',
      detail: expect.stringContaining('8388608'),
    })
    expect(await ask('http://[', options)).toMatchObject({ failure: 'failed' })
  })

  it.each(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'])(
    'that the router cannot ask for lack of what it takes, %s, says nothing of the engine',
    async (code) => {
      const url = await serve((_request, response) => response.end())
      const connecting = vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket) {
        const error = Object.assign(new Error(`connect ${code}`), { code, syscall: 'connect' })
        setImmediate(() => this.destroy(error))
        return Object.assign(this, { connecting: true })
      })
      try {
        expect(await ask(url, options)).toEqual({ failure: 'shortage', detail: `connect ${code}` })
      } finally {
        connecting.mockRestore()
      }
    },
  )

  it('can be called off', async () => {
    const controller = new AbortController()
    const url = await serve(() => controller.abort())
    expect(await ask(url, { ...options, signal: controller.signal })).toMatchObject({ failure: 'failed' })
  })
})

describe('workers that are not trusted (17.4)', () => {
  const untrusted = { ...options, isTrusted: false }

  it('are asked only at hosts that workers may have', async () => {
    const url = await serve((_request, response) => response.end('here'))
    expect(await ask(url, untrusted)).toEqual({ status: 200, body: 'here' })
    expect(await ask(url.replace('127.0.0.1', 'localhost'), untrusted)).toMatchObject({ status: 200 })
    for (const other of ['http://169.254.169.254/', 'http://[::ffff:a9fe:a9fe]/', 'http://10.0.0.1/'])
      expect(await ask(other, untrusted), other).toMatchObject({
        failure: 'failed',
        detail: expect.stringContaining('among'),
      })
  })

  it('a name is judged by the addresses that it has when it is connected to', async () => {
    const addresses = [{ address: '127.0.0.1', family: 4 }]
    const lookup = checkedLookup(new EndpointRules(['engine.test']), async () => addresses)
    const look = (name: string, all: boolean) =>
      new Promise((resolve) => {
        lookup(name, { all }, (error, address) => resolve(error === null ? address : 'refused'))
      })
    expect(await look('engine.test', false)).toBe('127.0.0.1')
    expect(await look('ENGINE.test', true)).toEqual(addresses)
    expect(await look('other.test', false)).toBe('refused')
    addresses.push({ address: '169.254.169.254', family: 4 })
    expect(await look('engine.test', false)).toBe('refused')
    addresses.length = 0
    expect(await look('engine.test', false)).toBe('refused')
  })
})
