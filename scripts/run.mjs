import { existsSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { endWithOutput } from './lib/output-errors.mjs'
import { ROOT } from './lib/root.mjs'
import { setUp } from './setup.mjs'

/**
 * What runs from TypeScript sources: `node scripts/run.mjs <name> [arguments]`.
 * @type {Record<string, { entry: string, exposesGc?: boolean }>}
 */
const PROGRAMS = {
  start: { entry: 'apps/router/src/start.ts' },
  router: { entry: 'apps/router/src/bin.ts' },
  demo: { entry: 'examples/demo/cli.ts' },
  vectors: { entry: 'packages/vectors/src/cli.ts' },
  embedded: { entry: 'examples/embedded.ts' },
  predict: { entry: 'examples/predict-cached-tokens.ts' },
  'mock-engine': { entry: 'apps/mock-engine/src/bin.ts' },
  tokenizers: { entry: 'packages/prompt/test/tokenizers/cli.ts' },
  fuzz: { entry: 'packages/kv-events/test/fuzz/cli.ts' },
  soak: { entry: 'packages/kv-index/test/soak/cli.ts', exposesGc: true },
  chaos: { entry: 'apps/router/test/chaos/cli.ts', exposesGc: true },
  bench: { entry: 'bench/src/cli.ts', exposesGc: true },
}

endWithOutput()
const [name = '', ...args] = process.argv.slice(2)
const program = PROGRAMS[name]
if (program === undefined) {
  refuse(`unknown program '${name}'; known: ${Object.keys(PROGRAMS).join(', ')}`)
} else if (!existsSync(join(ROOT, program.entry))) {
  refuse(`'${name}' cannot run: there is no ${program.entry}`)
} else if (await setUp()) {
  await start(program)
} else {
  process.exitCode = 1
}

/**
 * Runs the program in this process, so that signals, standard streams and the exit code are its own.
 * @param {{ entry: string, exposesGc?: boolean }} program
 */
async function start({ entry, exposesGc = false }) {
  const { bundleSources } = await import('../packages/tooling/src/source-bundle.js')
  const outfile = join(ROOT, 'node_modules', '.cache', 'router', `${name}.mjs`)
  try {
    await bundleSources({ entry: join(ROOT, entry), outfile })
  } catch {
    process.exitCode = 1
    return
  }
  if (exposesGc) {
    setFlagsFromString('--expose-gc')
    globalThis.gc = runInNewContext('gc')
  }
  process.setSourceMapsEnabled(true)
  process.argv = [process.execPath, outfile, ...args]
  await import(pathToFileURL(outfile).href)
}

/** @param {string} message */
function refuse(message) {
  process.stderr.write(`${message}\n`)
  process.exitCode = 1
}
