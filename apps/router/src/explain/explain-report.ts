import { relative } from 'node:path'
import { type LoadedRouterPolicy, printable } from '@router/config'
import type { RankExplanation, RouterWarning, SelectionExplanation } from '@router/core'
import { type WorkerRank, type WorkerRole, requestBlocks } from '@router/sdk'
import Table from 'cli-table3'
import type { createColors } from 'picocolors'
import { ranksOf } from './described-fleet.js'
import { counted } from './fleet-notes.js'
import type { Fleet, FleetRank } from './fleet-schema.js'

/** One explained selection, with everything that the report shows of it. */
export interface ExplainedSelection {
  /** As the report names it. */
  readonly policyFile: string
  /** As the report names it. */
  readonly fleetFile: string
  readonly fleet: Fleet
  readonly role: WorkerRole
  readonly loaded: LoadedRouterPolicy
  readonly explanation: SelectionExplanation
  readonly warnings: readonly RouterWarning[]
  /** What is odd about the fleet. */
  readonly notes: readonly string[]
  /** Columns of the worker table that the policy wrote into, which none may. */
  readonly writtenColumns: readonly string[]
}

type Colors = ReturnType<typeof createColors>

const rejectionWords: Readonly<Record<string, string>> = {
  WorkerNotAllowed: 'not among the allowed workers',
  WorkerNotRoutable: 'worker is not available',
  WorkerUnavailable: 'worker is unknown',
  DpRankUnavailable: 'rank is unknown',
  RoutingConstraintsUnsatisfied: 'lacks a required taint',
  WorkerOverloaded: 'over a busy threshold',
  NotPinned: 'another rank is imposed',
}

/** A rule below the head, and nothing else. */
const borderless = Object.fromEntries(
  (
    'top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid ' +
    'middle'
  )
    .split(' ')
    .map((part) => [part, part === 'mid' || part === 'mid-mid' ? '-' : part === 'middle' ? ' ' : '']),
)

/** Lines for a terminal: the question, a row per rank, and how the choice follows. */
export function renderReport(selection: ExplainedSelection, colors: Colors): string {
  const { explanation, loaded, warnings } = selection
  const notes = [
    ...selection.notes,
    // Those of unknown variables go to standard error.
    ...loaded.warnings.filter(({ code }) => code !== 'unknown_variable').map(({ message }) => message),
    ...warnings.map(({ message, workerId, dpRank }) =>
      workerId === undefined ? message : `${message} (${workerId}.${dpRank})`,
    ),
    ...loaded.notYetActive.map(({ message }) => message),
  ]
  return [
    ...headLines(selection, colors),
    '',
    renderTable(selection, colors),
    '',
    ...choiceLines(explanation, colors),
    ...(notes.length === 0
      ? []
      : ['', ...notes.map((note) => `${colors.yellow('note')}: ${printable(note)}`)]),
  ].join('\n')
}

/** An absolute path as short as it can be typed in a folder. */
export function shortPath(path: string, folder: string): string {
  const short = relative(folder, path)
  return short.startsWith('..') || short === '' ? path : short
}

function headLines(
  { fleet, fleetFile, policyFile, role, loaded, explanation }: ExplainedSelection,
  colors: Colors,
): string[] {
  const { prompt_tokens: tokens } = fleet.request
  const blocks = requestBlocks(tokens, fleet.block_size)
  const { policy } = explanation
  const { origin } = loaded.roles[role]
  const source = policy.package === undefined ? '' : ` of ${policy.package}`
  const lines = [
    [
      'fleet',
      `${fleetFile}: ${counted(fleet.workers.length, 'worker')}, ${counted(explanation.rows.length, 'rank')}`,
    ],
    [
      'request',
      `${counted(tokens, 'prompt token')} = ${counted(blocks, 'block')} of ${fleet.block_size}, role ${role}`,
    ],
    [
      'policy',
      `'${policy.name}', type ${policy.type} ${policy.version}${source}, revision ${policy.revision}`,
    ],
    ['named by', `${origin} (${policyFile})`],
  ]
  return lines.map(([name, text]) => `${colors.bold(name!.padEnd(10))} ${printable(text!)}`)
}

function renderTable({ fleet, explanation }: ExplainedSelection, colors: Colors): string {
  const { rows, tieSet, chosen, keys = {} } = explanation
  const states = new Map(
    ranksOf(fleet).map(({ workerId, dpRank, state }) => [nameOf({ workerId, dpRank }), state]),
  )
  const capacities = new Map(fleet.workers.map((worker) => [worker.worker_id, worker.total_kv_blocks]))
  const scorers =
    rows.find(({ contributions }) => contributions.length > 0)?.contributions.map(({ scorer }) => scorer) ??
    []
  const hasTaints = rows.some(({ taintMultiplier }) => taintMultiplier !== undefined)
  const ties = new Set(tieSet.map(nameOf))
  const facts = ['requests', 'prefill\ntokens', 'decode\nblocks', 'KV\nblocks', 'cached\nblocks']
  const costs = [
    ...(hasTaints ? ['taint\nfactor'] : []),
    ...scorers.map(printable),
    ...Object.keys(keys).map((key) => `key:\n${key.replaceAll(/(?=[A-Z])/gu, '\n').toLowerCase()}`),
    'total',
  ]
  const head = ['rank', ...facts, ...costs, 'outcome']
  const table = new Table({
    head,
    colAligns: head.map((_, column) => (column === 0 || column === head.length - 1 ? 'left' : 'right')),
    style: { head: [], border: [], compact: true, 'padding-left': 0, 'padding-right': 1 },
    chars: borderless,
  })
  let kept = 0
  for (const row of rows) {
    const name = nameOf(row)
    const isScored = row.total !== undefined
    const keyed = Object.values(keys).map((values) => (isScored ? showNumber(values[kept]) : ''))
    if (isScored) kept++
    table.push([
      name,
      ...stateCells(states.get(name), capacities.get(row.workerId)),
      ...(hasTaints ? [showNumber(row.taintMultiplier)] : []),
      ...scorers.map((_, index) => showNumber(row.contributions[index]?.cost)),
      ...keyed,
      showNumber(row.total),
      outcomeOf(
        row,
        { isTied: ties.has(name), isChosen: chosen !== undefined && nameOf(chosen) === name },
        colors,
      ),
    ])
  }
  return table.toString().replaceAll(/ +$/gmu, '')
}

function stateCells(state: FleetRank | undefined, capacity: number | null | undefined): string[] {
  const { load, overlap } = state ?? {}
  const cached = overlap === 'unknown' ? '?' : overlap ? tiersOf(overlap) : '0'
  return [
    showNumber(load?.active_requests, '?'),
    showNumber(load?.active_prefill_tokens, '?'),
    showNumber(load?.decode_cost_blocks, '?'),
    showNumber(capacity || undefined, '?'),
    cached,
  ]
}

function tiersOf({
  device,
  host,
  disk,
}: Exclude<FleetRank['overlap'], 'unknown' | null | undefined>): string {
  const slower = [...(host > 0 ? [`${host} host`] : []), ...(disk > 0 ? [`${disk} disk`] : [])]
  return [device, ...slower].join(' + ')
}

function outcomeOf(
  row: RankExplanation,
  { isTied, isChosen }: { isTied: boolean; isChosen: boolean },
  colors: Colors,
): string {
  if (row.rejection !== undefined) return colors.dim(`${rejectionWords[row.rejection]} (${row.rejection})`)
  if (row.filter !== undefined) return colors.dim(`filtered by ${printable(row.filter)}`)
  if (isChosen) return colors.green('chosen')
  return isTied ? 'tied' : ''
}

function choiceLines(
  { tieSet, mode, keys, margin, chosen, result, error }: SelectionExplanation,
  colors: Colors,
): string[] {
  if (error !== undefined || chosen === undefined)
    return [`${colors.red('no rank')}   ${error?.code ?? ''}: ${printable(error?.message ?? '')}`]
  const ties = tieSet.map(nameOf).join(', ')
  const lines = [
    ['tie set', tieSet.length === 1 ? `${ties} alone` : `${ties}: one of ${tieSet.length} equals`],
    ...(mode === undefined ? [] : [['mode', mode]]),
    ['margin', marginWords(margin, keys !== undefined)],
    ['chosen', `worker ${chosen.workerId}, rank ${chosen.dpRank}`],
    [
      'would book',
      `${counted(result!.requiredBlocks, 'block')}, ${counted(result!.cachedTokens, 'token')} taken as cached`,
    ],
  ]
  return lines.map(([name, text]) => `${colors.bold(name!.padEnd(10))} ${printable(text!)}`)
}

function marginWords(margin: number | undefined, hasKeys: boolean): string {
  if (margin === undefined) return 'no second rank'
  const caution = hasKeys ? '; the picker orders by the keys first' : ''
  return `${showNumber(margin)} between the two lowest totals${caution}`
}

function nameOf({ workerId, dpRank }: WorkerRank): string {
  return `${workerId}.${dpRank}`
}

function showNumber(value: number | undefined, missing = ''): string {
  return value === undefined || Number.isNaN(value) ? missing : String(Number(value.toPrecision(6)))
}
