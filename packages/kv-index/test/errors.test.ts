import { describe, expect, it } from 'vitest'
import { KvIndexError, kvIndexErrorCodes } from '../src/index.js'

const [errorsPage = ''] = Object.values(
  import.meta.glob(['../../../docs/errors.md'], { query: '?raw', import: 'default', eager: true }),
)
const sources = import.meta.glob(['../src/**/*.ts', '../../kv-events/src/**/*.ts', '!**/*.test.ts'], {
  query: '?raw',
  import: 'default',
  eager: true,
})
const codesIn = (text: string): string[] => text.match(/\bKV_INDEX_[A-Z_]*[A-Z]\b/gu) ?? []

describe('the error codes', () => {
  it('are unique', () => {
    expect(new Set(kvIndexErrorCodes).size).toBe(kvIndexErrorCodes.length)
  })

  it('have one row each in docs/errors.md, in the order of the source, and no other code has one', () => {
    const rows = [...errorsPage.matchAll(/^\| `(KV_\w+)` \| \S.* \| \S.* \|.* \|$/gmu)].map(
      ([, code]) => code,
    )
    expect(rows).toEqual([...kvIndexErrorCodes])
    expect([...new Set(codesIn(errorsPage))]).toEqual([...kvIndexErrorCodes])
  })

  it('are all raised by the sources, which name no other', () => {
    const named = Object.entries(sources).flatMap(([file, text]) =>
      file.endsWith('/src/errors.ts') ? [] : codesIn(text),
    )
    expect([...new Set(named)].toSorted()).toEqual([...kvIndexErrorCodes].toSorted())
  })
})

describe('KvIndexError', () => {
  it('carries code, details, message and cause', () => {
    const cause = new Error('inner')
    const error = new KvIndexError('KV_INDEX_TOKEN_INVALID', 'token -1', { value: -1, index: 0 }, { cause })
    expect(error).toMatchObject({
      name: 'KvIndexError',
      code: 'KV_INDEX_TOKEN_INVALID',
      message: 'token -1',
      details: { value: -1, index: 0 },
      cause,
    })
    expect(new KvIndexError('KV_INDEX_TOKEN_INVALID', 'x').details).toEqual({})
  })

  it('is recognised by its marker, also when another installed copy made it', () => {
    const copy = { [Symbol.for('@router/kv-index.error')]: true }
    expect([new KvIndexError('KV_INDEX_HASH_INVALID', 'x'), copy].map(KvIndexError.isInstance)).toEqual([
      true,
      true,
    ])
    const others = [
      undefined,
      null,
      'KV_INDEX_HASH_INVALID',
      { code: 'KV_INDEX_HASH_INVALID' },
      new Error('x'),
    ]
    expect(others.some(KvIndexError.isInstance)).toBe(false)
  })
})
