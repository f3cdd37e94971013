import { describe, expect, it } from 'vitest'
import { secondCopy } from '../test/support/second-copy.js'
import {
  CatalogError,
  ClassifierError,
  ConfigError,
  PatchError,
  RequestFault,
  RouterError,
  SelectionError,
  errorCodes,
  isOverload,
} from './errors.js'

const subclasses = { SelectionError, CatalogError, ConfigError, PatchError, ClassifierError }

describe('error codes', () => {
  it('are unique, upper case and start with ROUTER_', () => {
    expect(new Set(errorCodes).size).toBe(errorCodes.length)
    for (const code of errorCodes) expect(code).toMatch(/^ROUTER(?:_[A-Z]+)+$/u)
  })
})

describe('RouterError', () => {
  it('carries code, details, message and cause', () => {
    const cause = new Error('inner')
    const error = new SelectionError(
      'ROUTER_POLICY_FAILED',
      'scorer load threw',
      { component: 'load' },
      { cause },
    )
    expect(error).toMatchObject({
      name: 'SelectionError',
      code: 'ROUTER_POLICY_FAILED',
      message: 'scorer load threw',
      details: { component: 'load' },
      cause,
    })
    expect(error).toBeInstanceOf(RouterError)
    expect(error).toBeInstanceOf(Error)
    expect(String(error)).toBe('SelectionError: scorer load threw')
  })

  it('has empty details and no cause unless given', () => {
    const error = new RouterError('ROUTER_BAD_REQUEST', 'no prompt')
    expect(error.details).toEqual({})
    expect('cause' in error).toBe(false)
    expect(error.name).toBe('RouterError')
  })

  it('keeps the issues of a configuration, also in its details', () => {
    const issue = { code: 'ROUTER_CONFIG_INVALID', message: 'unknown key', path: ['router', 'x'] } as const
    const error = new ConfigError('ROUTER_CONFIG_INVALID', 'one fault', [issue])
    expect(error.issues).toEqual([issue])
    expect(error.details).toEqual({ issues: [issue] })
    expect(new ConfigError('ROUTER_CONFIG_READ', 'no file').issues).toEqual([])
  })
})

describe('isInstance', () => {
  it.each(Object.entries(subclasses))('tells a %s from its siblings', (name, Subclass) => {
    const error = new Subclass('ROUTER_BAD_REQUEST', 'x')
    expect(error.name).toBe(name)
    expect(RouterError.isInstance(error)).toBe(true)
    for (const [other, Other] of Object.entries(subclasses)) {
      expect([other, Other.isInstance(error)]).toEqual([other, other === name])
    }
  })

  it('does not take a plain router error for one of its subclasses', () => {
    const error = new RouterError('ROUTER_BAD_REQUEST', 'x')
    expect(RouterError.isInstance(error)).toBe(true)
    for (const Subclass of Object.values(subclasses)) expect(Subclass.isInstance(error)).toBe(false)
  })

  it('recognises errors of a second installed copy, which instanceof does not', async () => {
    const copy = await secondCopy()
    const error = new copy.CatalogError('ROUTER_POLICY_TYPE_UNKNOWN', 'x')
    expect(error).not.toBeInstanceOf(RouterError)
    expect(RouterError.isInstance(error)).toBe(true)
    expect(CatalogError.isInstance(error)).toBe(true)
    expect(PatchError.isInstance(error)).toBe(false)
    expect(ClassifierError.isInstance(new copy.ClassifierError('ROUTER_CLASSIFIER_FAILED', 'x'))).toBe(true)
    expect(copy.SelectionError.isInstance(new SelectionError('ROUTER_NO_ENDPOINTS', 'x'))).toBe(true)
    expect(isOverload(new copy.SelectionError('ROUTER_PINNED_WORKER_OVERLOADED', 'x'))).toBe(true)
    expect(RequestFault.isInstance(new copy.RequestFault('x'))).toBe(true)
  })

  it.each([undefined, null, 'ROUTER_BAD_REQUEST', 7, {}, { code: 'ROUTER_BAD_REQUEST' }, new Error('x')])(
    'refuses %s',
    (value) => {
      expect(RouterError.isInstance(value)).toBe(false)
      expect(RequestFault.isInstance(value)).toBe(false)
      expect(isOverload(value)).toBe(false)
    },
  )
})

describe('isOverload', () => {
  it('is true for the two overload codes alone', () => {
    const overloads = errorCodes.filter((code) => isOverload(new SelectionError(code, 'x')))
    expect(overloads).toEqual(['ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED', 'ROUTER_PINNED_WORKER_OVERLOADED'])
  })
})

describe('RequestFault', () => {
  it('is not a router error: it has no code', () => {
    const fault = new RequestFault('no session id')
    expect(RequestFault.isInstance(fault)).toBe(true)
    expect(RouterError.isInstance(fault)).toBe(false)
    expect(fault).toMatchObject({ name: 'RequestFault', message: 'no session id' })
  })
})
