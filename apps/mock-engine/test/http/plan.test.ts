import { describe, expect, test } from 'vitest'
import { parseFaultText } from '../../src/http/fault-schema.js'
import { planOutput } from '../../src/http/plan.js'

const limits = { maxTokens: 100, minTokens: 0, stop: [], stopTokenIds: [], includesStop: false }
const plan = (pieces: string[], more: object = {}, endsItself = true) =>
  planOutput(
    Uint32Array.from(pieces, (_, index) => index + 1),
    pieces,
    endsItself,
    { ...limits, ...more },
  )

describe('what is said', () => {
  test('ends where a stop string begins, also across pieces', () => {
    const cut = plan(['one', ' st', 'o', 'p it'], { stop: ['stop'] })
    expect(cut).toMatchObject({ pieces: ['one', ' ', '', ''], finishReason: 'stop', stopReason: 'stop' })
    expect(cut.tokens).toEqual(Uint32Array.of(1, 2, 3, 4))
    expect(plan(['one', ' st', 'o', 'p it'], { stop: ['stop'], includesStop: true }).pieces.join('')).toBe(
      'one stop',
    )
  })

  test('ends with the first of several stops', () => {
    expect(plan(['a', 'b', 'c'], { stop: ['c', 'b'] }).stopReason).toBe('b')
    expect(plan(['a', 'b', 'c'], { stop: ['c'], stopTokenIds: [2] }).stopReason).toBe(2)
    expect(plan(['a', 'b', 'c'], { stop: [''] }).stopReason).toBeNull()
    const many = Array.from({ length: 300_000 }, (_, index) => `never ${index}`)
    expect(plan(['a', 'b'], { stop: [...many, 'b'] }).stopReason).toBe('b')
  })

  test('does not stop before its least tokens, nor behind its most', () => {
    expect(plan(['a', 'b', 'a'], { stop: ['a'], minTokens: 1 })).toMatchObject({ pieces: ['a', 'b', ''] })
    expect(plan(['a', 'b', 'c'], { stop: ['c'], maxTokens: 2 })).toMatchObject({
      finishReason: 'length',
      stopReason: null,
    })
  })

  test('has room for its end, or is cut', () => {
    expect(plan(['a', 'b'], { maxTokens: 3 }).finishReason).toBe('stop')
    expect(plan(['a', 'b'], { maxTokens: 2 }).finishReason).toBe('length')
    expect(plan(['a', 'b'], { maxTokens: 3 }, false).finishReason).toBe('length')
  })
})

describe('a fault as text', () => {
  test('is a kind with fields', () => {
    expect(parseFaultText('hang')).toEqual({ kind: 'hang' })
    expect(parseFaultText('error:status=503,fraction=0.5,path=/v1/models')).toEqual({
      kind: 'error',
      status: 503,
      fraction: 0.5,
      path: '/v1/models',
    })
  })

  test.each([
    '',
    'no',
    'error',
    'error:status',
    'error:status=200',
    'hang:times=0',
    'hang:nope=1',
    'slow:delay_ms=',
  ])('%j is refused', (text) => {
    expect(() => parseFaultText(text)).toThrow(expect.objectContaining({ status: 400 }))
  })
})
