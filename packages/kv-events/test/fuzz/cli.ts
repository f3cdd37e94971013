import fc from 'fast-check'
import { BothReaders } from '../support/both-readers.js'
import { anyPayload } from '../support/payloads.js'

const DEFAULTS = { cases: 1_000_000, seed: 1 }
const USAGE = `usage: npm run fuzz -- [--cases <count>] [--seed <number>]
  Feeds random payloads to both readers of engine events: they must agree, and nothing may throw.
  Without arguments: ${DEFAULTS.cases} cases, seed ${DEFAULTS.seed}; some minutes. Exit code: 0 all passed, 1 one failed, 2 wrong use.`
/** Cases that share two sources; what a source remembers makes no case slower than that. */
const CASES_PER_ROUND = 5000

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

/** Runs all cases; what is wrong with the first that fails. */
function fuzz({ cases, seed }: typeof DEFAULTS): string | undefined {
  let [done, batches, events] = [0, 0, 0]
  for (let round = 0; done < cases; round++) {
    const sources = new BothReaders()
    const numRuns = Math.min(CASES_PER_ROUND, cases - done)
    const property = fc.property(anyPayload, (payload) => {
      sources.feed(payload)
    })
    const details = fc.check(property, { numRuns, seed: seed + round })
    if (details.failed) {
      const bytes = details.counterexample?.[0] ?? []
      const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
      return `seed ${seed + round}, case ${details.numRuns}: ${String(details.errorInstance)}\npayload ${hex}`
    }
    done += numRuns
    batches += sources.batches
    events += sources.events
    if (round % 20 === 19 || done === cases)
      process.stdout.write(`${done} payloads: ${batches} batches of ${events} events, the rest refused\n`)
  }
  return undefined
}

function main(args: readonly string[]): number {
  if (args.includes('--help')) {
    process.stdout.write(`${USAGE}\n`)
    return 0
  }
  const options = optionsOf(args)
  const fault = options === undefined ? USAGE : fuzz(options)
  if (fault === undefined) return 0
  process.stderr.write(`${fault}\n`)
  return options === undefined ? 2 : 1
}

process.exitCode = main(process.argv.slice(2))
