import { dirname, resolve } from 'node:path'
import { parseStrictYaml } from '@router/config'
import { z } from 'zod'
import { type WorkerEntry, acceptedUrls, baseUrlOf, entryOf } from './worker-entry.js'
import { workerRecord } from './worker-fields.js'

const workerFile = z
  .strictObject({
    workers: z.array(
      workerRecord.extend({
        endpoint: workerRecord.shape.endpoint.refine(
          (url) => baseUrlOf(url) !== undefined,
          `must be ${acceptedUrls}`,
        ),
      }),
    ),
  })
  .superRefine(({ workers }, context) => {
    const ids = new Set<bigint>()
    for (const [index, { endpoint, ...record }] of workers.entries()) {
      const { workerId } = entryOf(baseUrlOf(endpoint) ?? endpoint, record).registration
      if (ids.has(workerId))
        context.addIssue({
          code: 'custom',
          path: ['workers', index],
          message: `worker ${workerId} is listed twice`,
        })
      ids.add(workerId)
    }
  })

/**
 * The workers of a file in YAML or JSON. Errors: `ConfigError` with line and column (`ROUTER_CONFIG_PARSE`, `ROUTER_CONFIG_INVALID`).
 * @param fileName for messages
 * @param folder that paths in it are relative to
 */
export function parseWorkerFile(text: string, fileName: string, folder = dirname(fileName)): WorkerEntry[] {
  return parseStrictYaml(text, fileName, workerFile).workers.map(({ endpoint, ...record }) => {
    const entry = entryOf(baseUrlOf(endpoint)!, record)
    const { apiKeyFile } = entry
    return apiKeyFile === undefined ? entry : { ...entry, apiKeyFile: resolve(folder, apiKeyFile) }
  })
}
