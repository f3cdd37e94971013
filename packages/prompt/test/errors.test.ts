import { describe, expect, it } from 'vitest'
import { PromptError, promptErrorCodes } from '../src/index.js'

const [errorsPage = ''] = Object.values(
  import.meta.glob(['../../../docs/errors.md'], { query: '?raw', import: 'default', eager: true }),
)
const sources = import.meta.glob(['../src/**/*.ts', '!**/*.test.ts'], {
  query: '?raw',
  import: 'default',
  eager: true,
})
const codesIn = (text: string): string[] => text.match(/\bPROMPT_[A-Z_]*[A-Z]\b/gu) ?? []

describe('the error codes', () => {
  it('have one row each in docs/errors.md, in the order of the source, and no other code has one', () => {
    const rows = [...errorsPage.matchAll(/^\| `(PROMPT_\w+)` \| \S.* \| \S.* \|.* \|$/gmu)].map(
      ([, code]) => code,
    )
    expect(rows).toEqual([...promptErrorCodes])
    expect(new Set(codesIn(errorsPage))).toEqual(new Set(promptErrorCodes))
  })

  it('are all raised by the sources, which name no other', () => {
    const named = Object.entries(sources).flatMap(([file, text]) =>
      file.endsWith('/src/errors.ts') ? [] : codesIn(text),
    )
    expect([...new Set(named)].toSorted()).toEqual([...promptErrorCodes].toSorted())
  })

  it('are recognised by their marker', () => {
    const copy = { [Symbol.for('@router/prompt.error')]: true }
    const error = new PromptError('PROMPT_BODY_INVALID', 'x')
    const others = [undefined, null, 'x', new Error('x'), { code: error.code }]
    expect([error, copy, ...others].map(PromptError.isInstance)).toEqual([
      true,
      true,
      ...others.map(() => false),
    ])
  })
})
