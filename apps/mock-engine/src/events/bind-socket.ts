import { setTimeout as sleep } from 'node:timers/promises'
import type { Publisher, Router } from 'zeromq'
import { invalidEndpoint, isIpv6 } from './endpoints.js'

const attempts = 40
const retryMs = 25

/**
 * Binds and gives the endpoint with its real port. A port that is taken is tried again for a second: a restart may find its own not yet
 * free. Throws `MOCK_ENGINE_ENDPOINT_INVALID`.
 */
export async function bindSocket(socket: Publisher | Router, endpoint: string): Promise<string> {
  socket.ipv6 = isIpv6(endpoint)
  for (let attempt = 1; ; attempt++) {
    try {
      await socket.bind(endpoint)
      return socket.lastEndpoint ?? endpoint
    } catch (error) {
      if ((error as { code?: unknown }).code === 'EADDRINUSE' && attempt < attempts) {
        await sleep(retryMs)
        continue
      }
      throw invalidEndpoint(endpoint, (error as Error).message, error)
    }
  }
}
