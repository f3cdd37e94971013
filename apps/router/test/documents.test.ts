import { readFileSync } from 'node:fs'
import { selectionSettings } from '@router/config'
import { describe, expect, test } from 'vitest'
import { healthCauseCodes } from '../src/fleet/health-causes.js'
import { answerStatuses } from '../src/http/answers.js'
import { httpErrorCodes } from '../src/http/http-error.js'
import { settingGroups } from '../src/settings/serve-setting-table.js'

const page = (name: string) => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8')

/** The text below a heading, to the next one of the same level. */
function sectionOf(text: string, title: string): string {
  return text.split(/^## /mu).find((section) => section.startsWith(`${title}\n`)) ?? ''
}

/** What stands in backquotes in the first cell of each row. */
function namesOf(section: string): { readonly names: string[]; readonly rest: string }[] {
  return [...section.matchAll(/^\| (`\w+`(?:, `\w+`)*) \|(.*)\|$/gmu)].map(([, cell = '', rest = '']) => ({
    names: [...cell.matchAll(/`(\w+)`/gu)].map(([, name = '']) => name),
    rest,
  }))
}

describe('docs/errors.md', () => {
  test('has a row for each health cause that there is, and for no other', () => {
    const rows = namesOf(sectionOf(page('errors.md'), 'Health causes'))
    expect(rows.flatMap(({ names }) => names).toSorted()).toEqual([...healthCauseCodes].toSorted())
  })

  test('has each code that only HTTP knows in one row of the front doors, with its status', () => {
    const rows = namesOf(sectionOf(page('errors.md'), 'Front doors'))
    const named = rows.flatMap(({ names }) => names)
    for (const code of httpErrorCodes) {
      expect(named.filter((name) => name === code)).toEqual([code])
      const { rest = '' } = rows.find(({ names }) => names.includes(code)) ?? {}
      for (const status of new Set(answerStatuses[code])) expect(rest, code).toContain(String(status))
    }
  })
})

describe('docs/from-dynamo.md', () => {
  const section = sectionOf(page('from-dynamo.md'), 'Variables')
  const settings = [
    ...settingGroups
      .flatMap((group) => group.settings)
      .map(({ flag, alias }) => ({ flag, aliases: alias === undefined ? [] : [alias] })),
    ...Object.values(selectionSettings),
  ]
  const usual = (flag: string) => `DYN_${flag.replaceAll('-', '_').toUpperCase()}`

  test('has a row for each of Dynamo’s variables that is not called as its flag, and for no other', () => {
    const rows = [...section.matchAll(/^\| `--([\w-]+)` \| (.*) \|$/gmu)].map(([, flag = '', cell = '']) => [
      flag,
      [...cell.matchAll(/`(\w+)`/gu)].map(([, name]) => name),
    ])
    const others = settings.flatMap(({ flag, aliases }) => {
      const unusual = aliases.filter((name) => name !== usual(flag))
      return unusual.length === 0 ? [] : [[flag, unusual] as const]
    })
    expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(others))
  })
})
