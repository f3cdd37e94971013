import { ConfigError } from '@router/sdk'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { parseRouterPolicy } from '../src/index.js'

const valid = `worker_selection:
  decode: &n kvca
  instances:
    - {name: *n, type: some-type, parameters: {a: [1, 2.5, "x"], b: {c: ~}}}
router: {use_kv_events: true}
default_policy_class: a
policy_classes: [{name: a, slo_ms: 5, quantum: 1}]
`

/** Loads, or is refused with places inside the text. */
function check(text: string): void {
  try {
    parseRouterPolicy(text)
  } catch (error) {
    if (!ConfigError.isInstance(error)) throw error
    const lines = text.split(/\r\n|\r|\n/u)
    expect(error.issues.length).toBeGreaterThan(0)
    for (const { line, column, code } of error.issues) {
      expect(code).toMatch(/^ROUTER_/u)
      expect(line).toBeLessThanOrEqual(lines.length)
      expect(column).toBeLessThanOrEqual((lines[line! - 1] ?? '').length + 1)
    }
  }
}

test('whatever the text, it loads or is refused with an error of ours', () => {
  fc.assert(fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), check), { numRuns: 300, seed: 1 })
})

test('a valid file with one piece replaced loads or is refused', () => {
  const piece = fc.constantFrom(
    '',
    ' ',
    '\n',
    ':',
    '- ',
    '[',
    '{',
    '}',
    '*n',
    '&n ',
    '!!str ',
    '<<',
    '~',
    '|',
    '"',
    "'",
    '#',
    '\t',
    '--- ',
    '1e999',
    '🦀',
  )
  const edit = fc.tuple(fc.nat(valid.length), fc.nat(12), piece)
  fc.assert(
    fc.property(edit, ([at, length, text]) => check(valid.slice(0, at) + text + valid.slice(at + length))),
    { numRuns: 500, seed: 2 },
  )
})

test('parameters come back as they were written', () => {
  const leaf = fc.oneof(
    fc.boolean(),
    fc.constant(null),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value)),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }),
    fc.string({ maxLength: 8 }),
  )
  const key = fc.stringMatching(/^[a-z][a-z0-9_]{0,5}$/u)
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      leaf,
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 3 }),
    ),
  }))
  fc.assert(
    fc.property(fc.dictionary(key, tree, { maxKeys: 4 }), (parameters) => {
      const text = stringify(
        { worker_selection: { instances: [{ name: 'a', type: 't', parameters }] } },
        { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN' },
      )
      const [instance] = parseRouterPolicy(text).workerSelection!.instances!
      expect(instance!.parameters).toEqual(parameters)
    }),
    { numRuns: 200, seed: 3 },
  )
})
