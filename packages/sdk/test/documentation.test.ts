import { describe, expect, it } from 'vitest'
import { errorCodes } from '../src/errors.js'

const [errorsPage = ''] = Object.values(
  import.meta.glob(['../../../docs/errors.md'], { query: '?raw', import: 'default', eager: true }),
)
const sources = import.meta.glob(['../src/*.ts', '!../src/*.test.ts'], {
  query: '?raw',
  import: 'default',
  eager: true,
})

describe('docs/errors.md', () => {
  const entries = [...errorsPage.matchAll(/^### `(\w+)`$/gmu)].map(([, code]) => code!)

  it('has one entry for each code in the source, and no other', () => {
    expect(entries.toSorted()).toEqual([...errorCodes].toSorted())
  })

  it('keeps the order of the source', () => {
    expect(entries).toEqual([...errorCodes])
  })

  it('mentions no other code anywhere', () => {
    const mentioned = new Set(errorsPage.match(/\bROUTER_[A-Z_]*[A-Z]\b/gu))
    expect([...mentioned].filter((code) => !errorCodes.some((known) => known === code))).toEqual([])
  })

  it.each(errorCodes)(
    'tells of %s when it is raised, what to do, what it carries and what callers see',
    (code) => {
      const [, entry = ''] = errorsPage.split(`### \`${code}\`\n`)
      const [body = ''] = entry.split(/^##/mu)
      for (const heading of ['Raised', 'Do', 'Carries', 'Outward']) {
        expect(body).toMatch(new RegExp(`^- \\*\\*${heading}\\*\\* \\S`, 'mu'))
      }
    },
  )
})

describe('doc comments', () => {
  it.each(Object.entries(sources))('stand above every exported symbol of %s', (_file, source) => {
    const lines = source.split('\n')
    const bare = lines.filter((line, index) => {
      if (!/^export (?:async |abstract )?(?:function|const|class|interface|type) /u.test(line)) return false
      return lines[index - 1]?.endsWith('*/') !== true
    })
    expect(bare).toEqual([])
  })

  it('of codes: those that they name exist', () => {
    const named = Object.values(sources).flatMap((source) => source.match(/`ROUTER_[A-Z_]*[A-Z]`/gu) ?? [])
    expect(named.length).toBeGreaterThan(10)
    const unknown = named.filter((name) => !errorCodes.some((code) => `\`${code}\`` === name))
    expect(unknown).toEqual([])
  })
})
