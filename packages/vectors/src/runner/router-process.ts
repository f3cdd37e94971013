import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { bundleSources } from '@router/tooling/source-bundle'

const root = fileURLToPath(new URL('../../../..', import.meta.url))

/**
 * The command that runs the router of this checkout, from its sources as they are now. Other calls may do so at once: the file is
 * the same, and takes its place whole.
 */
export async function bundledRouter(): Promise<readonly string[]> {
  const outfile = join(root, 'node_modules', '.cache', 'router', 'vectors-router.mjs')
  await bundleSources({ entry: join(root, 'apps', 'router', 'src', 'bin.ts'), outfile })
  return [process.execPath, outfile]
}
