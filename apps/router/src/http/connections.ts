import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests that may wait on a connection for the answers to those before them. */
const mostWaiting = 64

const waiting = new WeakMap<Socket, number>()

/**
 * Hands on the requests of a connection one at a time, each when those before it are answered: who sends many at once keeps no more busy
 * than who waits. Too many of them cost the connection.
 */
export function takeInTurn(request: IncomingMessage, response: ServerResponse, take: RequestListener): void {
  const { socket } = request
  if (response.socket !== null) {
    take(request, response)
    return
  }
  const count = (waiting.get(socket) ?? 0) + 1
  if (count > mostWaiting) {
    socket.destroy()
    return
  }
  waiting.set(socket, count)
  response.once('socket', () => {
    waiting.set(socket, waiting.get(socket)! - 1)
    // Patience with the answer before this one is over.
    socket.setTimeout(0)
    process.nextTick(() => {
      if (!socket.destroyed) take(request, response)
    })
  })
}

/** Lets a client go that takes nothing of a whole answer for as long as idle connections are kept. */
export function letStalledGo(response: ServerResponse): void {
  response.once('prefinish', limitPatience)
}

function limitPatience(this: ServerResponse): void {
  const socket = this.socket as (Socket & { readonly server: Server }) | null
  // Without a listener a time-out ends a connection. Bytes that move, however few, begin it anew.
  if (socket !== null && socket.writableLength > 0) socket.setTimeout(socket.server.keepAliveTimeout)
}
