import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundleSources } from '@router/tooling/source-bundle'

let bundled: Promise<URL> | undefined

/** The module of a thread, made from the sources, once per file of tests. */
export function sourceWorker(): Promise<URL> {
  bundled ??= bundle()
  return bundled
}

async function bundle(): Promise<URL> {
  const entry = fileURLToPath(new URL('../../src/threads/worker.ts', import.meta.url))
  const outfile = fileURLToPath(
    new URL('../../../../node_modules/.cache/router/prompt-worker.mjs', import.meta.url),
  )
  await bundleSources({ entry, outfile })
  return pathToFileURL(outfile)
}
