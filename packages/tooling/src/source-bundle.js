import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { basename, dirname, join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { build, stop } from 'esbuild'
import { declareConstants, declarePackageConstants } from './package-constants.js'

const SOURCE = /\.(?:[cm]?ts|tsx)$/
const IMPORT_META = {
  'import.meta.url': '__sourceUrl',
  'import.meta.filename': '__sourceFile',
  'import.meta.dirname': '__sourceFolder',
}

/**
 * Workspace sources are bundled; every other package is imported from where its importer finds it, because the output
 * lies outside the folder whose dependencies it uses.
 * @type {import('esbuild').Plugin}
 */
const packagesStayOutside = {
  name: 'router:packages-stay-outside',
  setup(builder) {
    builder.onResolve({ filter: /^[^./]/ }, async ({ path, kind, resolveDir, pluginData }) => {
      if (pluginData === packagesStayOutside || kind === 'entry-point') return undefined
      if (isBuiltin(path)) return { path, external: true }
      const found = await builder.resolve(path, { kind, resolveDir, pluginData: packagesStayOutside })
      if (found.errors.length > 0 || !found.path.includes('/node_modules/')) return found
      return { path: pathToFileURL(found.path).href, external: true }
    })
  },
}

/**
 * `import.meta` and the package constants speak of the source file, not of the bundle.
 * @type {import('esbuild').Plugin}
 */
const sourcesKnowTheirPlace = {
  name: 'router:sources-know-their-place',
  setup(builder) {
    builder.onLoad({ filter: SOURCE }, async ({ path }) => {
      const code = declarePackageConstants(await readFile(path, 'utf8'), path)
      const loader = path.endsWith('x') ? 'tsx' : 'ts'
      if (!code.includes('import.meta')) return { contents: code, loader }
      const place = {
        __sourceUrl: pathToFileURL(path).href,
        __sourceFile: path,
        __sourceFolder: dirname(path),
      }
      const literals = Object.entries(place).map(([name, value]) => [name, JSON.stringify(value)])
      return { contents: declareConstants(code, Object.fromEntries(literals)), loader }
    })
  },
}

/**
 * Makes one runnable module from a TypeScript entry and the workspace sources that it imports.
 * @param {{ entry: string, outfile: string }} request absolute paths
 * @returns {Promise<void>} rejects after esbuild has printed what is wrong
 */
export async function bundleSources({ entry, outfile }) {
  const { outputFiles } = await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['router-source'],
    define: IMPORT_META,
    sourcemap: 'linked',
    logLevel: 'warning',
    plugins: [packagesStayOutside, sourcesKnowTheirPlace],
  })
  await stop()
  await mkdir(dirname(outfile), { recursive: true })
  await Promise.all(
    outputFiles.map(async ({ path, contents }) => {
      const unfinished = join(dirname(path), `.${process.pid}-${basename(path)}`)
      await writeFile(unfinished, contents)
      await rename(unfinished, path)
    }),
  )
}
