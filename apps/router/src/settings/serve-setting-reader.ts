import { type ConfigWarning, selectionSettings, suggest, unknownVariables } from '@router/config'
import type { ConfigIssue } from '@router/sdk'
import { workerVariables } from '../workers/sources/read-worker-sources.js'
import { serveSettings } from './serve-setting-table.js'
import { type ServeSetting, type SettingValue, acceptedBy, refused, valueOf } from './setting.js'

/** Texts of flags, by flag without dashes; several of a flag that may be given again and again. */
export type ServeFlags = Readonly<Record<string, string | readonly string[] | undefined>>

type Environment = Readonly<Record<string, string | undefined>>

/** What was said of a setting, and where. */
export interface GivenSetting {
  /** `--router-mode` or `DYN_ROUTER_MODE`. */
  readonly origin: string
  readonly value: SettingValue
}

/** Something to print once; nothing stops. */
export interface SettingWarning {
  readonly code: ConfigWarning['code'] | 'overridden' | 'unprotected'
  readonly message: string
}

/** A value that a deprecated switch stands for. */
export interface Preset<T> {
  readonly origin: string
  readonly value: T
}

const longestValue = 60
const serveList: readonly ServeSetting[] = Object.values(serveSettings)
const selectionList = Object.values(selectionSettings)

/** Variables of `router serve` alone: those of policies are for other commands too. */
export const serveVariables: readonly string[] = [
  ...workerVariables,
  ...serveList.flatMap(({ variable, alias }) => (alias === undefined ? [variable] : [variable, alias])),
]

/**
 * Reads flags and variables strictly: every text is checked, also one that another wins over. Those of policies are known, but others
 * check them.
 */
export class ServeSettingReader {
  readonly issues: ConfigIssue[] = []
  readonly warnings: SettingWarning[] = []
  /** By flag, without dashes. The flag wins over our variable, that over Dynamo's. */
  readonly given = new Map<string, GivenSetting>()

  constructor(flags: ServeFlags, environment: Environment) {
    this.issues.push(...unknownFlags(flags))
    this.warnings.push(...ignoredVariables(environment))
    for (const one of serveList) this.#readOne(one, flags, environment)
    for (const { flag, variable, aliases } of selectionList) {
      const origins: [string, ServeFlags[string]][] = [
        [`--${flag}`, flags[flag]],
        ...[variable, ...aliases].map((name): [string, ServeFlags[string]] => [name, environment[name]]),
      ]
      const [origin, value] = origins.find(([, text]) => text !== undefined && text !== '') ?? []
      if (origin !== undefined) this.given.set(flag, { origin, value })
    }
  }

  /** What is said, else the default. */
  read<T extends SettingValue>(one: ServeSetting, fallback: SettingValue = one.fallback): T {
    const given = this.given.get(one.flag)
    return (given === undefined ? fallback : given.value) as T
  }

  /** What was said, with three dots for a secret. */
  get told(): ReadonlyMap<string, GivenSetting> {
    const secrets = serveList.filter(({ isSecret }) => isSecret).map(({ flag }) => flag)
    const hide = (flag: string, said: GivenSetting): GivenSetting =>
      secrets.includes(flag) ? { ...said, value: '...' } : said
    return new Map([...this.given].map(([flag, said]) => [flag, hide(flag, said)]))
  }

  /**
   * What the policy file says, else a preset, else as `read`. A setting that says otherwise is ignored, with a warning.
   * @param key in the `router` section of the file
   */
  under<T extends SettingValue>(one: ServeSetting, key: string, value: T | undefined, preset?: Preset<T>): T {
    const said = this.read<T>(one)
    const winner: Preset<T> | undefined =
      value === undefined ? preset : { origin: `router.${key} of the policy file`, value }
    if (winner === undefined) return said
    const given = this.given.get(one.flag)
    if (given !== undefined && !isSame(given.value, winner.value)) {
      const message = `${given.origin}=${shown(given.value)} is ignored: ${winner.origin} makes it ${shown(winner.value)}`
      this.warnings.push({ code: 'overridden', message })
    }
    return winner.value
  }

  /** Something that cannot be, beside what else is said. */
  refuse(one: ServeSetting, what: string, accepted: string): void {
    const { origin = `--${one.flag}`, value = one.fallback } = this.given.get(one.flag) ?? {}
    const text = shown(value)
    const message = `${origin}=${text}: ${what}; accepted: ${accepted}`
    this.issues.push({ code: 'ROUTER_CONFIG_INVALID', message, path: [origin], value: text, accepted })
  }

  #readOne(one: ServeSetting, flags: ServeFlags, environment: Environment): void {
    const { flag, shortForms, variable, alias } = one
    const byFlag = flagsOf(one)
      .map((name) => this.#said(one, `--${name}`, flags[name]))
      .filter((said) => said !== undefined)
    const own = this.#said(one, variable, environment[variable])
    const alien = alias === undefined ? undefined : this.#said(one, alias, environment[alias])
    const given = byFlag[0] ?? own ?? alien
    if (given === undefined) return
    this.given.set(flag, given)
    const other = byFlag.find(({ value }) => !isSame(value, given.value))
    if (other !== undefined)
      this.refuse(
        one,
        `${other.origin}=${shown(other.value)} says otherwise`,
        `one of ${[flag, ...shortForms].map((name) => `--${name}`).join(', ')}`,
      )
    if (own === undefined || alien === undefined || isSame(own.value, alien.value)) return
    const winner = `${own.origin}=${shown(own.value)}`
    const message = `${alien.origin}=${shown(alien.value)} is ignored: ${winner} wins`
    this.warnings.push({ code: 'alias_disagrees', message })
  }

  #said(one: ServeSetting, origin: string, texts: ServeFlags[string]): GivenSetting | undefined {
    if (texts === undefined) return undefined
    const text = typeof texts === 'string' ? texts : texts.join(',')
    const value = valueOf(one, text)
    if (value === undefined) return undefined
    if (value !== refused) return { origin, value: value ?? undefined }
    const accepted = acceptedBy(one)
    const near = typeof one.kind === 'string' ? undefined : suggest(text, one.kind)
    const hint = near === undefined ? '' : `; did you mean '${near}'?`
    const message = `${origin} cannot be '${text.slice(0, longestValue)}'; accepted: ${accepted}${hint}`
    this.issues.push({ code: 'ROUTER_CONFIG_INVALID', message, path: [origin], value: text, accepted })
    return undefined
  }
}

/** Flags of a setting, without dashes. */
function flagsOf({ flag, shortForms, isSecret }: ServeSetting): readonly string[] {
  return isSecret ? [] : [flag, ...shortForms]
}

function unknownFlags(flags: ServeFlags): ConfigIssue[] {
  const known = [...serveList.flatMap(flagsOf), ...selectionList.map(({ flag }) => flag)]
  return Object.keys(flags).flatMap((flag) => {
    if (known.includes(flag)) return []
    const near = suggest(flag, known)
    const hint = near === undefined ? '' : `; did you mean --${near}?`
    const message = `unknown flag --${flag}${hint}`
    const accepted = known.map((name) => `--${name}`).join(', ')
    return [{ code: 'ROUTER_CONFIG_INVALID', message, path: [`--${flag}`], accepted }]
  })
}

/** Variables of ours that are no setting, and those of Dynamo that mean nothing here, the latter at once. */
function ignoredVariables(environment: Environment): SettingWarning[] {
  const known = [
    ...serveVariables,
    ...selectionList.flatMap(({ variable, aliases }) => [variable, ...aliases]),
  ]
  const unknown = unknownVariables(environment, known)
  const others = Object.keys(environment).filter(
    (name) =>
      name.startsWith('DYN_') &&
      environment[name] !== undefined &&
      !known.includes(name) &&
      !unknown.some(({ message }) => message.startsWith(`${name} `)),
  )
  if (others.length === 0) return unknown
  const message = `${others.toSorted().join(', ')}: ignored, the router has no such settings`
  return [...unknown, { code: 'unknown_variable', message }]
}

function isSame(one: SettingValue, other: SettingValue): boolean {
  return shown(one) === shown(other)
}

/** A value as it is written. */
export function shown(value: SettingValue): string {
  if (value instanceof Map)
    return [...value].map(([key, text]) => (key === '' ? text : `${key}=${text}`)).join(',')
  return value === undefined ? 'None' : String(value)
}
