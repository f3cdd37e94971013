import { z } from 'zod'
import { MockEngineError } from '../errors.js'
import { badRequest } from './api-error.js'
import { parseBody } from './bodies.js'
import type { Exchange } from './exchange.js'
import { parseFault } from './fault-schema.js'
import type { ServerHost } from './server-host.js'

const restartBody = z
  .strictObject({ block_size: z.int().optional(), num_gpu_blocks: z.int().optional() })
  .optional()

/** `GET /stats`. */
export function answerStats({ stats, engine }: ServerHost, exchange: Exchange): void {
  exchange.send(200, stats.report(engine.facts()))
}

/** `POST /admin/faults`: one fault, or a list of them of which none is taken where one is refused. */
export function addFaults({ faults }: ServerHost, exchange: Exchange, given: unknown): void {
  if (!Array.isArray(given)) {
    exchange.send(201, faults.add(parseFault(given)))
    return
  }
  exchange.send(201, { faults: faults.addAll(given.map(parseFault)) })
}

/** `GET /admin/faults`. */
export function listFaults({ faults }: ServerHost, exchange: Exchange): void {
  exchange.send(200, { faults: faults.list() })
}

/** `DELETE /admin/faults` and `/admin/faults/{id}`. */
export function removeFaults({ faults }: ServerHost, exchange: Exchange): void {
  faults.remove(exchange.request.parameters['id'])
  exchange.send(200, { faults: faults.list() })
}

/** `POST /admin/restart`: answers once the new incarnation is up. */
export async function answerRestart(host: ServerHost, exchange: Exchange, given: unknown): Promise<void> {
  const body = parseBody(restartBody, given ?? undefined, exchange.request.shape)
  try {
    await host.restart({ blockSize: body?.block_size, blocksPerRank: body?.num_gpu_blocks })
  } catch (error) {
    if (MockEngineError.isInstance(error)) throw badRequest(error.message)
    throw error
  }
  const { blockSize, blocksPerRank, startedAtSeconds } = host.engine
  exchange.send(200, {
    block_size: blockSize,
    num_gpu_blocks: blocksPerRank,
    started_at_seconds: startedAtSeconds,
  })
}

/** `GET /admin/requests`. */
export function listRequests({ log }: ServerHost, exchange: Exchange): void {
  exchange.send(200, {
    requests: log.list().map(({ method, url, rawHeaders, bodyBase64 }) => ({
      method,
      url,
      raw_headers: rawHeaders,
      body_base64: bodyBase64,
    })),
  })
}
