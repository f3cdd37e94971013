import { selectionSettings } from '@router/config'
import { type Command, Option } from 'commander'
import { type ServeFlags, shown } from '../settings/serve-setting-reader.js'
import { settingGroups } from '../settings/serve-setting-table.js'
import { type ServeSetting, acceptedBy } from '../settings/setting.js'
import type { WorkerTexts } from '../workers/sources/read-worker-sources.js'

/** What a command line says: settings by flag without dashes, and workers. */
export interface ServeTexts {
  readonly flags: ServeFlags
  readonly workers: Pick<WorkerTexts, 'worker' | 'workerUrls' | 'workerFile' | 'workerDns'>
}

/** Reads one option of a command line that was parsed; `undefined` = it is not there. */
type Reader = (command: Command) => string | readonly string[] | undefined

/**
 * Gives a command a flag for every setting, under headings. Texts stay as they are: whoever reads settings checks them, wherever they come
 * from.
 * @returns what the command line says, once it is parsed
 */
export function addServeOptions(command: Command): (command: Command) => ServeTexts {
  const readers = new Map<string, Reader>()
  const add = (name: string, option: Option, read: Reader = valueOf(option)): void => {
    command.addOption(option)
    readers.set(name, read)
  }
  command.optionsGroup('Workers:')
  for (const [name, form, description, isRepeatable] of workerFlags)
    add(
      name,
      isRepeatable ? repeatable(name, form, description) : new Option(`--${name} <${form}>`, description),
    )
  for (const { title, settings } of settingGroups) {
    command.optionsGroup(`${title}:`)
    for (const one of settings) addSetting(one, add)
    if (title !== 'Routing') continue
    command.optionsGroup('Policy, where the policy file says nothing else:')
    for (const { flag, description } of Object.values(selectionSettings))
      add(flag, new Option(`--${flag} <value>`, description))
  }
  return (parsed) => {
    const said = new Map([...readers].map(([name, read]) => [name, read(parsed)]))
    const isWorkers = new Set<string>(workerFlags.map(([name]) => name))
    return {
      flags: Object.fromEntries(
        [...said].filter(([name, text]) => !isWorkers.has(name) && text !== undefined),
      ),
      workers: {
        worker: said.get('worker') as readonly string[] | undefined,
        workerUrls: said.get('worker-urls') as string | undefined,
        workerFile: said.get('worker-file') as string | undefined,
        workerDns: said.get('worker-dns') as readonly string[] | undefined,
      },
    }
  }
}

const workerFlags = [
  ['worker', 'URL[,key=value...]', 'an engine, http://host:port; may be given again and again', true],
  ['worker-urls', 'URLs', 'engines, a comma list', false],
  ['worker-file', 'file', 'YAML or JSON file of engines, read again whenever it changes', false],
  ['worker-dns', 'name:port', 'a name whose addresses are engines; may be given again and again', true],
] as const

type Add = (name: string, option: Option, read?: Reader) => void

function addSetting(one: ServeSetting, add: Add): void {
  if (one.isSecret) return
  const text = describe(one)
  if (one.kind === 'switch') {
    addSwitch(one, text, add)
    return
  }
  const form = formOf(one)
  const isRepeatable = one.kind === 'list' || one.kind === 'pairs'
  add(one.flag, isRepeatable ? repeatable(one.flag, form, text) : new Option(`--${one.flag} <${form}>`, text))
  for (const short of one.shortForms)
    add(short, new Option(`--${short} <${form}>`, `the same as --${one.flag}`))
}

/** `--x` and `--no-x`; what is called `no-x` is `--no-x` alone. */
function addSwitch({ flag }: ServeSetting, text: string, add: Add): void {
  if (flag.startsWith('no-')) {
    const option = new Option(`--${flag}`, text)
    add(flag, option, (command) => (isGiven(command, option) ? 'true' : undefined))
    return
  }
  const option = new Option(`--${flag}`, text)
  add(flag, option, (command) =>
    isGiven(command, option) ? String(command.getOptionValue(option.attributeName())) : undefined,
  )
  // Both write to the same place.
  add(`no-${flag}`, new Option(`--no-${flag}`).hideHelp(), () => undefined)
}

function repeatable(flag: string, form: string, description: string): Option {
  const collect = (text: string, before: readonly string[] = []): readonly string[] => [...before, text]
  return new Option(`--${flag} <${form}>`, description).argParser(collect)
}

function valueOf(option: Option): Reader {
  return (command) =>
    isGiven(command, option)
      ? (command.getOptionValue(option.attributeName()) as string | readonly string[])
      : undefined
}

function isGiven(command: Command, option: Option): boolean {
  return command.getOptionValueSource(option.attributeName()) === 'cli'
}

function formOf({ kind, flag }: ServeSetting): string {
  if (flag === 'tokenizer') return '[model=]folder'
  if (flag === 'model-alias') return 'alias=model'
  if (typeof kind !== 'string') return 'name'
  return kind === 'text' && flag.endsWith('-file') ? 'file' : kind
}

/** One line: what it is, what is accepted, and its default. */
function describe(one: ServeSetting): string {
  const { description, kind, fallback } = one
  if (kind === 'switch') {
    if (one.flag.startsWith('no-') || fallback === undefined) return description
    return `${description} (default: ${fallback === true ? `on; off: --no-${one.flag}` : 'off'})`
  }
  const accepted = typeof kind === 'string' ? [] : [acceptedBy(one)]
  const known = fallback === undefined ? [] : [`default: ${shown(fallback)}`]
  const notes = [...accepted, ...known].join('; ')
  return notes === '' ? description : `${description} (${notes})`
}
