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
      // At once: while an asynchronous one runs, whatever else is asked of the socket throws.
      socket.bindSync(endpoint)
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

/** Closes a socket that is bound to `endpoint`, '' = to none; the port is free on return. */
export function closeSocket(socket: Publisher | Router, endpoint: string): void {
  try {
    if (endpoint !== '') socket.unbindSync(endpoint)
  } catch {
    // Closed already, or a name that is gone.
  }
  socket.close()
}

/** Sends; what a closed socket, or one whose peer has left, is given is lost. */
export async function sendOrLose(socket: Publisher | Router, frames: Uint8Array[]): Promise<void> {
  try {
    await socket.send(frames)
  } catch {
    // As with an engine that dies.
  }
}
