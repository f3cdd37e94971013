import { type FlagTexts, type SettingDefinition, loadRouterPolicy, selectionSettings } from '@router/config'
import { type RouterWarning, createSelector } from '@router/core'
import { type WorkerRole, workerRoles } from '@router/sdk'
import { Command, InvalidArgumentError, Option } from 'commander'
import { shippedCatalog } from '../catalog.js'
import type { CommandContext } from '../command-context.js'
import { exampleFleet, examplePolicy } from '../example.js'
import { renderJson } from '../explain-json.js'
import { type ExplainedSelection, renderReport, shortPath } from '../explain-report.js'
import { readFleet, requestOf, tableOf } from '../fleet.js'

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
  const { invocation } = context
  const command = new Command('explain')
    .description(
      'take one selection apart: why each rank was rejected, or what it cost, and how the choice follows',
    )
    .option(
      '--policy-config <file>',
      `router-policy file; else ROUTER_POLICY_CONFIG or DYN_ROUTER_POLICY_CONFIG, else the example`,
    )
    .option('--fleet <file>', 'workers with their load and cache, and the request', shortPath(exampleFleet))
    .addOption(
      new Option('--role <role>', 'role that selects; else the one of the fleet file').choices(workerRoles),
    )
    .option('--seed <integer>', 'seed of the random streams, to repeat a draw among equals', parseSeed)
    .option('--json', 'print the whole explanation as JSON')
  command.optionsGroup('Router settings, as the policy file and the environment have them:')
  for (const { flag, description } of passedOn) command.option(`--${flag} <value>`, description)
  command.addHelpText('after', () => helpExamples(invocation))
  return command.action(async () => {
    const exitCode = await explain(command.opts<ExplainOptions>(), context)
    context.exit(exitCode)
  })
}

async function explain(
  options: ExplainOptions,
  { environment, write, colors, invocation, randomSeed, nowMs }: CommandContext,
): Promise<number> {
  const { policyConfig, fleet: fleetFile, json = false } = options
  const hasFile = policyConfig !== undefined || namesPolicyFile(environment)
  const loaded = await loadRouterPolicy({
    catalog: shippedCatalog(),
    ...(policyConfig !== undefined && { path: policyConfig }),
    ...(!hasFile && { path: shortPath(examplePolicy) }),
    flags: flagsOf(options),
    environment,
  })
  const fleet = await readFleet(fleetFile, shortPath(fleetFile))
  const role = options.role ?? fleet.role ?? 'aggregated'
  const warnings: RouterWarning[] = []
  let seed = options.seed ?? randomSeed()
  const selector = createSelector({
    table: tableOf(fleet, loaded.routerDefaults),
    policy: loaded.bundle.roles[role]!,
    role,
    routerDefaults: loaded.routerDefaults,
    entropy: () => seed++,
    nowMs,
    onWarning: (warning) => warnings.push(warning),
  })
  const explanation = selector.explain(requestOf(fleet))
  selector.dispose()
  const policyFile = loaded.policyFile?.file ?? ''
  const selection: ExplainedSelection = { policyFile, fleetFile, fleet, role, loaded, explanation, warnings }
  write(json ? renderJson(selection) : `${renderReport(selection, colors)}\n\n${nextSteps(invocation, role)}`)
  return explanation.error === undefined ? 0 : 1
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

function parseSeed(text: string): bigint {
  if (/^\d{1,20}$/u.test(text) && BigInt(text) < 1n << 64n) return BigInt(text)
  throw new InvalidArgumentError('Accepted: an integer from 0 to 2^64 - 1.')
}

function helpExamples(invocation: string): string {
  return `
Examples:
  ${invocation}                                   the example fleet and policy
  ${invocation} --role decode                     what another role decides
  ${invocation} --policy-config my-policy.yaml    your policy file, Dynamo's or ours
  ${invocation} --fleet my-fleet.yaml --json      your fleet, for a program
  ${invocation} --seed 7                          the same draw among equals every time

Exit code: 0 a rank was chosen, 1 none was or a file is wrong, 2 wrong use.`
}

function nextSteps(invocation: string, role: WorkerRole): string {
  const other = role === 'decode' ? 'aggregated' : 'decode'
  const lines = [
    [`${invocation} --role ${other}`, `the same moment, decided by the policy of ${other}`],
    [`${invocation} --router-worker-selection-policy default`, 'by the built-in policy'],
    [
      `${invocation} --router-worker-selection-policy default --router-temperature 0.5`,
      'and with a spread choice',
    ],
    [
      `${invocation} --policy-config FILE --fleet FILE`,
      `your own: copy ${shortPath(examplePolicy)} and fleet.yaml beside it`,
    ],
  ]
  const width = Math.max(...lines.map(([text]) => text!.length))
  return ['try next', ...lines.map(([text, what]) => `  ${text!.padEnd(width)}   ${what}`)].join('\n')
}
