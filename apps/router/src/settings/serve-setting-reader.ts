import { type ConfigWarning, suggest } from '@router/config'
import type { ConfigIssue } from '@router/sdk'
import { serveSettings } from './serve-setting-table.js'
import { type ServeSetting, type SettingValue, acceptedBy, refused, valueOf } from './setting.js'

/** Texts of flags, by flag without dashes; several of a flag that may be given again and again. */
export type ServeFlags = Readonly<Record<string, string | readonly string[] | undefined>>

/** Where a setting was given, and what was said there. */
export interface GivenSetting {
  readonly setting: ServeSetting
  /** `--router-mode` or `DYN_ROUTER_MODE`. */
  readonly origin: string
  readonly value: SettingValue
}

const longestValue = 60

/** Reads flags and variables strictly: every text is checked, also one that another wins over. */
export class ServeSettingReader {
  readonly issues: ConfigIssue[] = []
  readonly warnings: ConfigWarning[] = []
  /** What was said, by flag without dashes. The flag wins over our variable, that over Dynamo's. */
  readonly given = new Map<string, GivenSetting>()

  constructor(flags: ServeFlags, environment: Readonly<Record<string, string | undefined>>) {
    this.issues.push(...unknownFlags(flags))
    for (const one of Object.values<ServeSetting>(serveSettings)) {
      const { flag, shortForms, variable, alias, isSecret } = one
      const names = isSecret ? [] : [flag, ...shortForms]
      const byFlag = names.map((name) => this.#said(one, `--${name}`, flags[name]))
      const own = this.#said(one, variable, environment[variable])
      const alien = alias === undefined ? undefined : this.#said(one, alias, environment[alias])
      const given = byFlag.find((each) => each !== undefined) ?? own ?? alien
      if (given !== undefined) this.given.set(flag, given)
      if (own === undefined || alien === undefined || isSame(own.value, alien.value)) continue
      const winner = `${own.origin}=${shown(own.value)}`
      const message = `${alien.origin}=${shown(alien.value)} is ignored: ${winner} wins`
      this.warnings.push({ code: 'alias_disagrees', message })
    }
  }

  /** What is said, else the default. */
  read<T extends SettingValue>(one: ServeSetting, fallback: SettingValue = one.fallback): T {
    const given = this.given.get(one.flag)
    return (given === undefined ? fallback : given.value) as T
  }

  /** What the policy file says, else as `read`. A setting that says otherwise is ignored, with a warning. */
  under<T extends SettingValue>(one: ServeSetting, key: string, value: T | undefined): T {
    const said = this.read<T>(one)
    if (value === undefined) return said
    const given = this.given.get(one.flag)
    if (given !== undefined && !isSame(given.value, value))
      this.warnings.push({
        code: 'overridden_by_file',
        message: `${given.origin}=${shown(given.value)} is ignored: router.${key}: ${shown(value)} of the file wins`,
      })
    return value
  }

  /** Something that cannot be, beside what else is said. */
  refuse(one: ServeSetting, what: string, accepted: string): void {
    const { origin = `--${one.flag}`, value } = this.given.get(one.flag) ?? {}
    const text = one.isSecret || value === undefined ? {} : { value: shown(value) }
    const subject = text.value === undefined ? origin : `${origin}=${text.value}`
    const message = `${subject}: ${what}; accepted: ${accepted}`
    this.issues.push({ code: 'ROUTER_CONFIG_INVALID', message, path: [origin], ...text, accepted })
  }

  #said(
    one: ServeSetting,
    origin: string,
    texts: string | readonly string[] | undefined,
  ): GivenSetting | undefined {
    if (texts === undefined) return undefined
    const text = typeof texts === 'string' ? texts : texts.join(',')
    const value = valueOf(one, text)
    if (value === undefined) return undefined
    if (value !== refused) return { setting: one, origin, value: value ?? undefined }
    const accepted = acceptedBy(one)
    const shownText = one.isSecret ? 'that' : `'${text.slice(0, longestValue)}'`
    const message = `${origin} cannot be ${shownText}; accepted: ${accepted}`
    const told = one.isSecret ? {} : { value: text }
    this.issues.push({ code: 'ROUTER_CONFIG_INVALID', message, path: [origin], ...told, accepted })
    return undefined
  }
}

function unknownFlags(flags: ServeFlags): ConfigIssue[] {
  const known = Object.values(serveSettings).flatMap(({ flag, shortForms, isSecret }) =>
    isSecret ? [] : [flag, ...shortForms],
  )
  return Object.keys(flags).flatMap((flag) => {
    if (known.includes(flag)) return []
    const near = suggest(flag, known)
    const hint = near === undefined ? '' : `; did you mean --${near}?`
    const message = `unknown flag --${flag}${hint}`
    const accepted = known.map((name) => `--${name}`).join(', ')
    return [{ code: 'ROUTER_CONFIG_INVALID', message, path: [`--${flag}`], accepted }]
  })
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
