import { type AccountedIndex, type Soak, type SoakReport, liveSessionsFor, soaks } from '../support/soak.js'
import { createAccounted } from '../support/subjects.js'

// Runs in Node, started by `npm run soak -- [I5|U28|U30] [--scale 0.01]`; the package itself knows no platform.
declare const process: {
  readonly argv: readonly string[]
  exitCode: number | undefined
  readonly stdout: { write(text: string): void; readonly isTTY?: boolean }
  memoryUsage(): { readonly heapUsed: number; readonly arrayBuffers: number }
}
declare const gc: () => void

const mebibyte = 2 ** 20
/** What heap and buffers may differ by between two moments at which the index is empty ... */
const heapNoise = 4 * mebibyte
/** ... beside this share of all it ever took: the longer run may need a few more pieces to reuse. */
const reuseShare = 0.25

function memory(): number {
  gc()
  gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

/**
 * A tenth first, on the same index and at the same load, so that what stays for reuse is there; then all of it must bring memory back to that.
 */
function soak({ name, unit, count, run }: Soak, scale: number): boolean {
  const index: AccountedIndex = createAccounted()
  const whole = Math.ceil(count * scale)
  const liveSessions = liveSessionsFor(whole)
  let most = 0
  const onProgress = (): void => {
    most = Math.max(most, process.memoryUsage().arrayBuffers)
  }
  try {
    const fresh = memory()
    const first = run(index, { count: Math.ceil(whole / 10), liveSessions })
    const before = memory()
    const report = run(index, { count: whole, liveSessions, onProgress })
    const after = memory()
    const faults = [...first.faults, ...report.faults]
    const allowed = heapNoise + reuseShare * (report.largest['bytes'] ?? 0)
    if (after - before > allowed) faults.push(`${after - before} bytes more than before`)
    print(`${name}: ${whole} ${unit}, ${report.operations} stores and removals`)
    const empty = `new ${mib(fresh)}, used ${mib(before)}, at the end ${mib(after)}`
    print(`  memory when empty: ${empty}; largest buffers: ${mib(most)}`)
    printGauges(report)
    for (const fault of faults) print(`  FAULT: ${fault}`)
    return faults.length === 0
  } catch (error) {
    print(`${name}: ${String(error)}`)
    return false
  }
}

function printGauges({ largest, atEnd }: SoakReport): void {
  for (const [gauge, value] of Object.entries(largest)) {
    print(`  ${gauge.padEnd(16)} largest ${String(value).padStart(10)}   at the end ${atEnd[gauge]}`)
  }
}

function mib(bytes: number): string {
  return `${(bytes / mebibyte).toFixed(1)} MiB`
}

const usage = `usage: npm run soak -- [I5] [U28] [U30] [--scale <above 0, at most 100>]
  Millions of stores and removals: every gauge and the memory must come back to where they were. --scale 0.01 is a hundredth.
  Without names: all three; some minutes. Exit code: 0 all passed, 1 one failed, 2 wrong use.`

function main(args: readonly string[]): number {
  if (args.includes('--help')) {
    print(usage)
    return 0
  }
  const at = args.indexOf('--scale')
  const scale = at === -1 ? 1 : Number(args[at + 1])
  const names = args.filter((_, index) => at === -1 || (index !== at && index !== at + 1))
  const chosen = soaks.filter(
    ({ name }) => names.length === 0 || names.some((wanted) => name.startsWith(wanted)),
  )
  const unknown = names.find((wanted) => !soaks.some(({ name }) => name.startsWith(wanted)))
  if (unknown !== undefined || !(scale > 0 && scale <= 100)) {
    print(`${usage}\ngot '${args.join(' ')}'`)
    return 2
  }
  const passed = chosen.filter((one) => soak(one, scale)).length
  print(`${passed} passed, ${chosen.length - passed} failed`)
  return passed === chosen.length ? 0 : 1
}

process.exitCode = main(process.argv.slice(2))
