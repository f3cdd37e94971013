import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const LIMIT_BYTES = 12_000

/**
 * Measures what the contract costs whoever bundles it: minified and compressed, without zod.
 * @param {string} root of the workspace; the packages are built
 * @returns {Promise<{ ok: boolean, output: string, note: string }>}
 */
export async function checkSdkSize(root) {
  const { outputFiles } = await build({
    entryPoints: [join(root, 'packages/sdk/dist/index.js')],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2023',
    external: ['zod', 'zod/*'],
    logLevel: 'silent',
  })
  const bytes = gzipSync(outputFiles[0]?.contents ?? '').byteLength
  const note = `${(bytes / 1000).toFixed(1)} kB of ${LIMIT_BYTES / 1000} kB`
  return { ok: bytes <= LIMIT_BYTES, output: `@router/sdk: ${note}, minified and compressed\n`, note }
}
