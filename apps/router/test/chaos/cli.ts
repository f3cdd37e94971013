import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { bundleSources } from '@router/tooling/source-bundle'
import Table from 'cli-table3'
import { type CheckName, checkNames } from './chaos-report.js'
import { type ChaosCounts, type ChaosReport, runChaos } from './chaos-run.js'

// Started by `npm run chaos`: engines that die and hang, clients that go, and what becomes of the router's promises.

const defaults = { requests: 20_000, seed: 1, engines: 4 }
const usage = `usage: npm run chaos -- [--requests <count>] [--seed <number>] [--engines <2 to 26>] [--json]
  Requests to a router while its engines die, hang and come back and clients leave; counts every broken promise.
  Without arguments: ${defaults.requests} requests, seed ${defaults.seed}, ${defaults.engines} engines; minutes. Exit code: 0 no violation, 1 some, 2 wrong use.`
/** Requests before the first look at the heap. */
const firstRequests = 5000

interface Options {
  readonly requests: number
  readonly seed: number
  readonly engines: number
  readonly isJson: boolean
}

/** `undefined` = the arguments are something else. */
function optionsOf(args: readonly string[]): Options | undefined {
  const options = { ...defaults }
  const numbers = args.filter((arg) => arg !== '--json')
  for (let index = 0; index < numbers.length; index += 2) {
    const name = numbers[index]!.slice(2) as keyof typeof defaults
    const value = numbers[index + 1]
    if (numbers[index]!.slice(0, 2) !== '--' || !Object.hasOwn(defaults, name)) return undefined
    if (value === undefined || !/^\d{1,9}$/.test(value)) return undefined
    options[name] = Number(value)
  }
  if (options.engines < 2 || options.engines > 26 || options.requests === 0) return undefined
  return { ...options, isJson: numbers.length < args.length }
}

function progressOf({ requests, verdicts, troubles, triedAgain }: ChaosCounts): string {
  const { answered, broken, left } = verdicts
  const done = `${requests} requests: ${answered} answered, ${left} left, ${broken} broken streams, ${triedAgain} tried again`
  return `${done}; ${troubles.kill} kills, ${troubles.hang} hangs, ${troubles.faults} times faulty\n`
}

function tableOf(report: ChaosReport): string {
  const { verdicts, left, troubles, memory } = report
  const done = new Table({ head: ['done', ''], style: { head: [], border: [] } })
  done.push(
    ['requests', report.requests],
    ['answered', verdicts.answered],
    ['clients that went before anything came', left.nothing],
    ['clients that went in mid-stream', left.events],
    ['streams that broke', verdicts.broken],
    ['requests tried at more than one engine', report.triedAgain],
    ['attempts at engines', report.attempts],
    ['attempts that were refused', report.refusedAttempts],
    ['engines killed and started again', troubles.kill],
    ['engines that hung with a healthy face', troubles.hang],
    ['engines that answered badly for a while', troubles.faults],
    ['slowest return, ms', Math.round(report.slowestReturnMs)],
    ['heap after the first part and at the end, MB', pair(memory?.first.heap, memory?.end.heap)],
    ['buffers after the first part and at the end, MB', pair(memory?.first.buffers, memory?.end.buffers)],
  )
  const checked = new Table({ head: ['checked', 'times', 'violations'], style: { head: [], border: [] } })
  for (const [name, { checked: times, violations }] of Object.entries(report.checks))
    checked.push([checkNames[name as CheckName], times === 0 ? 'not' : times, violations])
  return `${done.toString()}\n${checked.toString()}\n`
}

function pair(first: number | undefined, end: number | undefined): string {
  return first === undefined ? 'not looked at' : `${first}, ${end}`
}

async function main(args: readonly string[]): Promise<number> {
  if (args.includes('--help')) {
    process.stdout.write(`${usage}\n`)
    return 0
  }
  const options = optionsOf(args)
  if (options === undefined) {
    process.stderr.write(`${usage}\n`)
    return 2
  }
  const { isJson, ...counts } = options
  const root = fileURLToPath(new URL('../../../..', import.meta.url))
  const binary = join(root, 'node_modules', '.cache', 'router', 'chaos-engine.mjs')
  await bundleSources({ entry: join(root, 'apps', 'mock-engine', 'src', 'bin.ts'), outfile: binary })
  let toldMs = performance.now()
  const report = await runChaos({
    ...counts,
    binary,
    firstRequests: counts.requests > firstRequests ? firstRequests : undefined,
    concurrency: 8 * counts.engines,
    pace: {
      everyRequests: [30, 300],
      downMs: [200, 8000],
      hangMs: [500, 15_000],
      faultsMs: [500, 4000],
    },
    flags: { 'first-byte-timeout-secs': '8', 'idle-timeout-secs': '8' },
    isTimed: true,
    onProgress: (done) => {
      if (isJson || performance.now() - toldMs < 5000) return
      toldMs = performance.now()
      process.stdout.write(progressOf(done))
    },
  })
  process.stdout.write(isJson ? `${JSON.stringify(report, null, 2)}\n` : tableOf(report))
  for (const story of report.stories) process.stderr.write(`VIOLATION: ${story}\n`)
  return report.violations === 0 ? 0 : 1
}

process.exitCode = await main(process.argv.slice(2))
