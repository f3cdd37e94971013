import { resolve } from 'node:path'
import {
  type FlagTexts,
  type SettingDefinition,
  loadRouterPolicy,
  printable,
  selectionSettings,
} from '@router/config'
import type { RouterWarning } from '@router/core'
import { type WorkerRole, workerRoles } from '@router/sdk'
import { Command, InvalidArgumentError, Option } from 'commander'
import { buildSelector } from '../build-selector.js'
import { shippedCatalog } from '../catalog.js'
import type { CommandContext } from '../command-context.js'
import { exampleFleet, examplePolicy } from '../example.js'
import { readFleet, requestOf, tableOf } from '../explain/described-fleet.js'
import { renderJson } from '../explain/explain-json.js'
import { type ExplainedSelection, renderReport, shortPath } from '../explain/explain-report.js'
import { fleetNotes } from '../explain/fleet-notes.js'
import { writtenColumns } from '../explain/written-columns.js'
import { serveVariables } from '../settings/serve-setting-reader.js'

interface ExplainOptions {
  readonly policyConfig?: string
  readonly fleet: string
  readonly role?: WorkerRole
  readonly seed?: bigint
  readonly json?: boolean
  readonly [flag: string]: unknown
}

/** The settings that this command takes beside its own flags. */
const passedOn: readonly SettingDefinition[] = Object.values(selectionSettings).filter(
  (setting) => setting !== selectionSettings.policyConfig,
)

/** `router explain`: one selection of a fleet file, taken apart. */
export function explainCommand(context: CommandContext): Command {
  const { program, folder } = context
  const command = new Command('explain')
    .description(
      'take one selection apart: why each rank was rejected, or what it cost, and how the choice follows',
    )
    .option(
      '--policy-config <file>',
      `router-policy file; else ROUTER_POLICY_CONFIG or DYN_ROUTER_POLICY_CONFIG, else the example`,
      parsePath,
    )
    .option(
      '--fleet <file>',
      'workers with their load and cache, and the request',
      parsePath,
      shortPath(exampleFleet, folder),
    )
    .addOption(
      new Option('--role <role>', 'role that selects; else the one of the fleet file').choices(workerRoles),
    )
    .option('--seed <integer>', 'seed of the random streams, to repeat a draw among equals', parseSeed)
    .option('--json', 'print the whole explanation as JSON')
  command.optionsGroup('Router settings, as the policy file and the environment have them:')
  for (const { flag, description } of passedOn) command.option(`--${flag} <value>`, description)
  command.addHelpText('after', () => helpExamples(program))
  return command.action(async () => {
    const exitCode = await explain(command.opts<ExplainOptions>(), context)
    context.exit(exitCode)
  })
}

async function explain(options: ExplainOptions, context: CommandContext): Promise<number> {
  const { environment, write, writeError, colors, folder, randomSeed, nowMs } = context
  const { policyConfig, json = false } = options
  const hasFile = policyConfig !== undefined || namesPolicyFile(environment)
  const loaded = await loadRouterPolicy({
    catalog: shippedCatalog(),
    ...(policyConfig !== undefined && { path: policyConfig }),
    ...(!hasFile && { path: shortPath(examplePolicy, folder) }),
    folder,
    flags: flagsOf(options),
    // Those of another command are none that nobody knows.
    environment: Object.fromEntries(
      Object.entries(environment).filter(([name]) => !serveVariables.includes(name)),
    ),
  })
  for (const { code, message } of loaded.warnings) {
    if (code === 'unknown_variable') writeError(`${colors.yellow('warning')}: ${message}`)
  }
  const fleetPath = resolve(folder, options.fleet)
  const fleetFile = shortPath(fleetPath, folder)
  const fleet = await readFleet(fleetPath, fleetFile)
  const role = options.role ?? fleet.role ?? 'aggregated'
  const warnings: RouterWarning[] = []
  let seed = options.seed ?? randomSeed()
  const policy = loaded.bundle.roles[role]!
  const place = { policy, role, routerDefaults: loaded.routerDefaults, nowMs }
  const selector = buildSelector(loaded, {
    ...place,
    table: tableOf(fleet, loaded.routerDefaults),
    entropy: () => seed++,
    onWarning: (warning) => warnings.push(warning),
    checkViews: true,
  })
  const explanation = selector.explain(requestOf(fleet))
  selector.dispose()
  const selection: ExplainedSelection = {
    policyFile: shortPath(resolve(folder, loaded.policyFile!.file), folder),
    fleetFile,
    fleet,
    role,
    loaded,
    explanation,
    warnings,
    notes: fleetNotes(fleet),
    writtenColumns: writtenColumns(fleet, loaded.routerDefaults, place),
  }
  write(json ? renderJson(selection) : `${renderReport(selection, colors)}\n\n${nextSteps(context, role)}`)
  const written = selection.writtenColumns.join(', ')
  if (written !== '') {
    const subject = `policy '${policy.name}', type ${policy.definition.type}`
    const what = `writes into ${written}: columns of the worker table, which a policy may only read`
    writeError(`${colors.red('error')}: ${printable(`${subject}, ${what}`)}`)
  }
  return explanation.error === undefined && written === '' ? 0 : 1
}

function namesPolicyFile(environment: CommandContext['environment']): boolean {
  const { variable, aliases } = selectionSettings.policyConfig
  return [variable, ...aliases].some((name) => (environment[name] ?? '').trim() !== '')
}

function flagsOf(options: ExplainOptions): FlagTexts {
  const entries = passedOn.map(({ flag }) => [flag, options[camelCase(flag)] as string | undefined])
  return Object.fromEntries(entries) as FlagTexts
}

function camelCase(flag: string): string {
  return flag.replaceAll(/-([a-z])/gu, (_, letter: string) => letter.toUpperCase())
}

function parsePath(text: string): string {
  if (text.trim() !== '') return text
  throw new InvalidArgumentError('Accepted: the path of a file.')
}

function parseSeed(text: string): bigint {
  if (/^\d{1,20}$/u.test(text) && BigInt(text) < 1n << 64n) return BigInt(text)
  throw new InvalidArgumentError('Accepted: an integer from 0 to 2^64 - 1.')
}

function helpExamples(program: string): string {
  return `
Examples:
  ${program} explain                                   the example fleet and policy
  ${program} explain --role decode                     what another role decides
  ${program} explain --policy-config my-policy.yaml    your policy file, Dynamo's or ours
  ${program} explain --fleet my-fleet.yaml --json      your fleet, for a program
  ${program} explain --seed 7                          the same draw among equals every time

Exit code: 0 a rank was chosen, 1 none was or a file is wrong, 2 wrong use.`
}

function nextSteps({ program, folder }: CommandContext, role: WorkerRole): string {
  const other = role === 'decode' ? 'aggregated' : 'decode'
  const lines = [
    [`${program} explain --role ${other}`, `the same moment, decided by the policy of ${other}`],
    [`${program} explain --router-worker-selection-policy default`, 'by the built-in policy'],
    [
      `${program} explain --router-worker-selection-policy default --router-temperature 0.5`,
      'and with a spread choice',
    ],
    [
      `${program} explain --policy-config FILE --fleet FILE`,
      `your own: copy ${shortPath(examplePolicy, folder)} and fleet.yaml beside it`,
    ],
  ]
  const width = Math.max(...lines.map(([text]) => text!.length))
  return ['try next', ...lines.map(([text, what]) => `  ${text!.padEnd(width)}   ${what}`)].join('\n')
}
