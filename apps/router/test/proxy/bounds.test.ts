import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { expect, test } from 'vitest'
import { Upstreams } from '../../src/proxy/upstreams.js'
import { Tokenizers } from '../../src/service/tokenizers.js'
import { testFleet } from '../fleet/support.js'

test('U30: connections are kept of the workers that were used last, and closed of others', async () => {
  const paths: string[] = []
  const sockets = new Map<string, Socket>()
  const server = createServer(({ url = '', socket }, response) => {
    paths.push(url)
    sockets.set(url, socket)
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const upstreams = new Upstreams({ keepAliveMs: 600_000, maximumPools: 3 })
  const ask = (worker: string): Promise<void> =>
    new Promise((resolve, reject) => {
      upstreams.dispatch(
        { endpoint: `http://127.0.0.1:${port}/${worker}`, isTrusted: true },
        { method: 'GET', path: '', headers: [], body: undefined },
        {
          onRequestStart: () => undefined,
          onResponseStart: () => undefined,
          onResponseData: () => undefined,
          onResponseEnd: () => resolve(),
          onResponseError: (_controller, error) => reject(error),
        },
        false,
      )
    })
  for (const worker of ['a', 'b', 'c', 'a']) await ask(worker)
  const first = sockets.get('/b')!
  const isClosed = first.closed ? undefined : once(first, 'close')
  await ask('d')
  expect(upstreams.size).toBe(3)
  // The one of the worker that was used longest ago.
  await isClosed
  expect(['/a', '/c', '/d'].map((path) => sockets.get(path)!.destroyed)).toEqual([false, false, false])
  await ask('b')
  expect([upstreams.size, paths]).toEqual([3, ['/a', '/b', '/c', '/a', '/d', '/b']])
  await upstreams.close()
  server.close()
})

test('U30: tokenizers of no more than 1,024 models are remembered', async () => {
  const { fleet } = testFleet()
  const settings = { tokenizers: new Map(), chatTemplate: undefined }
  const tokenizers = await Tokenizers.create(settings, fleet.workers, () => 0)
  let most = 0
  for (let model = 0; model < 3000; model++) {
    expect(tokenizers.folderOf(`model ${model}`)).toBeUndefined()
    most = Math.max(most, tokenizers.size)
  }
  expect(most).toBe(1024)
  await tokenizers.close()
})
