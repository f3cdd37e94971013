import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { basename, dirname, extname, join, resolve } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { build, stop } from 'esbuild'
import { declareConstants, declarePackageConstants } from './package-constants.js'

const SOURCE = /\.(?:[cm]?ts|tsx)$/
/** How a source names the module of a worker thread. */
const MODULE_URL = /new URL\('(\.{1,2}\/[^']+)\.js', import\.meta\.url\)/g
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
 * Replaces the URLs by which a source names modules that are sources as well.
 * @param {string} code
 * @param {string} path of the source
 * @param {(entry: string) => string} outfileOf where the bundle of such a module is
 * @returns {string} the same string where it names none
 */
export function nameModules(code, path, outfileOf) {
  return code.replace(MODULE_URL, (text, name) => {
    const entry = resolve(dirname(path), `${name}.ts`)
    return existsSync(entry) ? `new URL(${JSON.stringify(pathToFileURL(outfileOf(entry)).href)})` : text
  })
}

/**
 * `import.meta` and the package constants speak of the source file, not of the bundle; a module that a source names by a URL is a
 * bundle of its own beside `outfile`.
 * @param {string} outfile
 * @param {Map<string, Promise<void>>} modules bundles that are made, by outfile
 * @returns {import('esbuild').Plugin}
 */
function sourcesKnowTheirPlace(outfile, modules) {
  return {
    name: 'router:sources-know-their-place',
    setup(builder) {
      builder.onLoad({ filter: SOURCE }, async ({ path }) => {
        const source = declarePackageConstants(await readFile(path, 'utf8'), path)
        const loader = path.endsWith('x') ? 'tsx' : 'ts'
        if (!source.includes('import.meta')) return { contents: source, loader }
        const code = nameModules(source, path, (entry) => {
          const module = join(dirname(outfile), moduleName(outfile, entry))
          if (!modules.has(module)) modules.set(module, bundle({ entry, outfile: module }, modules))
          return module
        })
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
}

/**
 * Name of the bundle of a module that the sources of `outfile` name.
 * @param {string} outfile
 * @param {string} entry
 * @returns {string} no other source has it
 */
export function moduleName(outfile, entry) {
  const digest = createHash('sha256').update(entry).digest('hex').slice(0, 8)
  const name = (/** @type {string} */ file) => basename(file, extname(file))
  return `${name(outfile)}.${name(entry)}-${digest}.mjs`
}

/**
 * Makes one runnable module from a TypeScript entry and the workspace sources that it imports, and one from each source that they
 * name as `new URL('./worker.js', import.meta.url)`.
 * @param {{ entry: string, outfile: string }} request absolute paths
 * @returns {Promise<void>} rejects after esbuild has printed what is wrong
 */
export async function bundleSources(request) {
  /** @type {Map<string, Promise<void>>} */
  const modules = new Map()
  try {
    await bundle(request, modules)
    // Modules may name further ones.
    for (const module of modules.values()) await module
  } finally {
    await Promise.allSettled(modules.values())
    await stop()
  }
}

/**
 * @param {{ entry: string, outfile: string }} request
 * @param {Map<string, Promise<void>>} modules
 * @returns {Promise<void>}
 */
async function bundle({ entry, outfile }, modules) {
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
    plugins: [packagesStayOutside, sourcesKnowTheirPlace(outfile, modules)],
  })
  await mkdir(dirname(outfile), { recursive: true })
  await Promise.all(
    outputFiles.map(async ({ path, contents }) => {
      const unfinished = join(dirname(path), `.${process.pid}-${basename(path)}`)
      await writeFile(unfinished, contents)
      await rename(unfinished, path)
    }),
  )
}
