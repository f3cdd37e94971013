import { type Socket, connect } from 'node:net'
import type { MockEngine } from '../../src/index.js'

/** A connection on which a test sees every byte, and how it ends. */
export class RawClient {
  received = ''
  /** `end` = closed in order, `reset` = torn down; undefined = open. */
  ending: 'end' | 'reset' | undefined
  readonly #socket: Socket

  constructor(engine: Pick<MockEngine, 'port'>) {
    this.#socket = connect({ port: engine.port, host: '127.0.0.1' })
    this.#socket.on('data', (bytes) => (this.received += bytes.toString('utf8')))
    this.#socket.on('end', () => (this.ending ??= 'end'))
    this.#socket.on('error', () => (this.ending = 'reset'))
    this.#socket.on('close', () => (this.ending ??= 'end'))
  }

  /** Sends a POST with a JSON body. */
  post(path: string, body: object): this {
    const text = JSON.stringify(body)
    return this.write(
      `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    )
  }

  get(path: string): this {
    return this.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
  }

  write(text: string): this {
    this.#socket.write(text)
    return this
  }

  /** The client goes away. */
  leave(): void {
    this.#socket.destroy()
  }
}
