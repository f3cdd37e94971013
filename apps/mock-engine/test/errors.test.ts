import { describe, expect, it } from 'vitest'
import { MockEngineError, mockEngineErrorCodes } from '../src/index.js'

const [errorsPage = ''] = Object.values(
  import.meta.glob(['../../../docs/errors.md'], { query: '?raw', import: 'default', eager: true }),
)
const sources = import.meta.glob(['../src/**/*.ts', '!**/*.test.ts'], {
  query: '?raw',
  import: 'default',
  eager: true,
})
const codesIn = (text: string): string[] => text.match(/\bMOCK_ENGINE_[A-Z_]*[A-Z]\b/gu) ?? []

describe('the error codes', () => {
  it('have one row each in docs/errors.md, in the order of the source, and no other code has one', () => {
    const rows = [...errorsPage.matchAll(/^\| `(MOCK_ENGINE_\w+)` \| \S.* \| \S.* \|$/gmu)].map(
      ([, code]) => code,
    )
    expect(rows).toEqual([...mockEngineErrorCodes])
    expect(new Set(codesIn(errorsPage))).toEqual(new Set(mockEngineErrorCodes))
  })

  it('are all raised by the sources, which name no other', () => {
    const named = Object.entries(sources).flatMap(([file, text]) =>
      file.endsWith('/src/errors.ts') ? [] : codesIn(text),
    )
    expect([...new Set(named)].toSorted()).toEqual([...mockEngineErrorCodes].toSorted())
  })

  it('are recognised by their marker', () => {
    const copy = { [Symbol.for('router-mock-engine.error')]: true }
    const error = new MockEngineError('MOCK_ENGINE_OPTION_INVALID', 'x')
    const others = [undefined, null, 'x', new Error('x'), { code: error.code }]
    expect([error, copy, ...others].map(MockEngineError.isInstance)).toEqual([
      true,
      true,
      ...others.map(() => false),
    ])
  })
})
