import { Agent, createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { RunningPart } from './part-process.js'

/** The floor: a proxy of `node:http` alone that does nothing but pass requests on, to each engine in turn. */
export async function startPassThrough({ urls }: { readonly urls: readonly string[] }): Promise<RunningPart> {
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity })
  const targets = urls.map((url) => new URL(url))
  let turn = 0
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const { hostname, port } = targets[turn++ % targets.length]!
    const { method, url, headers } = request
    const upstream = send({ agent, hostname, port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    upstream.on('error', () => response.destroy())
    request.pipe(upstream)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { facts: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } }
}
