import type { ConfigIssue } from '@router/sdk'
import { showValue, toIssue } from './issues.js'
import { printable } from './printable.js'
import { type SettingDefinition, selectionSettings } from './settings.js'
import { suggest } from './suggest.js'

/** What Kubernetes and Docker set in every container for a service that is called `router`. */
const serviceVariable = /^ROUTER_(?:SERVICE_HOST|SERVICE_PORT|PORT)(?:_|$)/u

/** Texts by flag, without dashes: `{ 'router-temperature': '0.7' }`. */
export type FlagTexts = Readonly<Record<string, string | undefined>>

/** Texts by variable, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Something that a host should print once; nothing stops. */
export interface ConfigWarning {
  readonly code:
    | 'alias_disagrees'
    | 'deprecated_setting'
    | 'overridden_by_file'
    | 'no_effect'
    | 'role_not_served'
    | 'unknown_variable'
  readonly message: string
}

/** A value, and the flag or variable that gave it. */
export interface Given {
  readonly value: string | number
  /** `--router-temperature` or `DYN_ROUTER_TEMPERATURE`. */
  readonly origin: string
}

/** What the command line and what the environment say of one setting. */
export interface GivenByLevel {
  readonly flag: Given | undefined
  readonly environment: Given | undefined
}

/** Reads flags and environment strictly: every text is checked, also one that another source wins over. */
export class SettingReader {
  readonly issues: ConfigIssue[] = []
  readonly warnings: ConfigWarning[] = []
  readonly #flags: FlagTexts
  readonly #environment: Environment

  constructor(flags: FlagTexts, environment: Environment) {
    this.#flags = flags
    this.#environment = environment
    const known = Object.values(selectionSettings).map(({ flag }) => flag)
    for (const flag of Object.keys(flags)) {
      if (known.includes(flag)) continue
      const accepted = known.map((name) => `--${name}`).join(', ')
      const nearest = suggest(flag, known)
      const suggestion = nearest === undefined ? undefined : `--${nearest}`
      this.issues.push(
        toIssue({ path: [`--${flag}`], message: `unknown flag --${flag}`, accepted, suggestion }),
      )
    }
    const variables = Object.values(selectionSettings).flatMap(({ variable, aliases }) => [
      variable,
      ...aliases,
    ])
    this.warnings.push(...unknownVariables(environment, variables))
  }

  /** The winner over both levels. */
  read(setting: SettingDefinition): Given | undefined {
    const { flag, environment } = this.readLevels(setting)
    return flag ?? environment
  }

  /** The two levels apart. Within the environment our variable wins over Dynamo's, with a warning when they disagree. */
  readLevels(setting: SettingDefinition): GivenByLevel {
    const flag = this.#parse(setting, `--${setting.flag}`, this.#flags[setting.flag])
    const [environment, ...others] = [setting.variable, ...setting.aliases].flatMap(
      (name) => this.#parse(setting, name, this.#environment[name]) ?? [],
    )
    for (const { origin, value } of others) {
      if (environment === undefined || value === environment.value) continue
      const winner = `${environment.origin}=${environment.value}`
      this.warnings.push({
        code: 'alias_disagrees',
        message: `${origin}=${value} is ignored: ${winner} wins`,
      })
    }
    return { flag, environment }
  }

  #parse(setting: SettingDefinition, origin: string, text: string | undefined): Given | undefined {
    if (text === undefined) return undefined
    const refuse = (accepted: string, suggestion?: string): undefined => {
      const message = `${origin} cannot be ${showValue(text)}`
      this.issues.push(toIssue({ path: [origin], message, value: text, accepted, suggestion }))
    }
    // Node reads bytes that are no UTF-8 as U+FFFD.
    if (/[\uFFFD\p{Surrogate}]/u.test(text)) {
      const message = `${origin} is no valid Unicode text`
      this.issues.push(
        toIssue({
          code: 'ROUTER_ENVIRONMENT_NOT_TEXT',
          path: [origin],
          message,
          value: text,
          accepted: 'UTF-8 text',
        }),
      )
      return undefined
    }
    if (setting.kind === 'name') {
      const value = text.trim()
      return value === '' ? undefined : { value, origin }
    }
    if (setting.kind === 'choice') {
      const choices = setting.choices ?? []
      return choices.includes(text)
        ? { value: text, origin }
        : refuse(choices.map(showValue).join(', '), suggest(text, choices))
    }
    const value = parseNumber(text)
    const { minimum = 0, maximum = Infinity } = setting
    if (value !== undefined && value >= minimum && value <= maximum) return { value, origin }
    const range =
      maximum === Infinity ? `a finite number >= ${minimum}` : `a number from ${minimum} to ${maximum}`
    return refuse(range)
  }
}

/** `ROUTER_PORT` is a URL where a service is behind it; a number there is meant for us. */
function isOfService(name: string, text: string): boolean {
  return serviceVariable.test(name) && !(name === 'ROUTER_PORT' && /^\d+$/u.test(text))
}

/** Warns of any variable of our prefix that is no setting, and of any other one that is spelled almost as one. */
export function unknownVariables(environment: Environment, known: readonly string[]): ConfigWarning[] {
  return Object.entries(environment).flatMap(([name, text]): ConfigWarning[] => {
    if (text === undefined || known.includes(name) || isOfService(name, text)) return []
    const isOurs = name.startsWith('ROUTER_')
    const suggestion = suggest(name, known, isOurs ? undefined : 2)
    if (!isOurs && suggestion === undefined) return []
    const hint = suggestion === undefined ? '' : `; did you mean ${suggestion}?`
    const message = `${printable(name)} has no effect: there is no such setting${hint}`
    return [{ code: 'unknown_variable', message }]
  })
}

/** A finite decimal number without surrounding spaces; `undefined` for anything else. */
function parseNumber(text: string): number | undefined {
  if (!/^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/u.test(text)) return undefined
  const value = Number(text)
  return Number.isFinite(value) ? value : undefined
}
