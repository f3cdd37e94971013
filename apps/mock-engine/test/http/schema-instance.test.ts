import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { SchemaInstanceError, schemaInstance } from '../../src/http/schema-instance.js'

/** A schema whose value doubles with each of its levels. */
function laughs(levels: number): object {
  const level = (at: number) => ({
    type: 'array',
    minItems: 2,
    items: at === levels ? { type: 'null' } : { $ref: `#/$defs/l${at + 1}` },
  })
  return {
    $ref: '#/$defs/l0',
    $defs: Object.fromEntries(Array.from({ length: levels + 1 }, (_, at) => [`l${at}`, level(at)])),
  }
}

function nested(levels: number): object {
  let schema: object = { type: 'null' }
  for (let level = 0; level < levels; level++) schema = { type: 'array', minItems: 1, items: schema }
  return schema
}

describe('a small instance', () => {
  test.each<[object | boolean, unknown]>([
    [
      { type: 'object', properties: { a: { type: 'string' }, b: { type: 'number' } }, required: ['b'] },
      { b: 0 },
    ],
    [
      { properties: { a: { type: 'null' } }, required: ['a', 'other'] },
      { a: null, other: null },
    ],
    [{ type: 'array', items: { type: 'boolean' }, minItems: 2 }, [true, true]],
    [{ type: 'array', prefixItems: [{ const: 1 }], items: { const: 2 }, minItems: 2 }, [1, 2]],
    [{ type: 'string', minLength: 2 }, 'aa'],
    [{ type: 'string', format: 'date' }, '2024-01-01'],
    [{ type: 'integer', minimum: 2.5 }, 3],
    [{ type: 'integer', exclusiveMaximum: 0 }, -1],
    [{ type: 'number', exclusiveMinimum: 1, exclusiveMaximum: 2 }, 1.5],
    [{ type: 'integer', multipleOf: 7, minimum: 1 }, 7],
    [{ type: ['null', 'string'] }, null],
    [{ enum: ['x', 'y'] }, 'x'],
    [{ const: { a: 1 } }, { a: 1 }],
    [{ anyOf: [{ type: 'string', pattern: 'x' }, { type: 'null' }] }, null],
    [{ oneOf: [{ $ref: '#/$defs/a' }], $defs: { a: { const: 5 } } }, 5],
    [
      {
        allOf: [
          { properties: { a: { const: 1 } }, required: ['a'] },
          { properties: { b: { const: 2 } }, required: ['b'] },
        ],
      },
      { a: 1, b: 2 },
    ],
    [{ $ref: '#/definitions/a~1b', definitions: { 'a/b': { type: 'boolean' } } }, true],
    [
      {
        type: 'object',
        properties: { next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } },
        required: ['next'],
      },
      { next: null },
    ],
    [
      { type: 'object', additionalProperties: { const: 4 }, minProperties: 2 },
      { key0: 4, key1: 4 },
    ],
    [
      { type: 'object', properties: { ['__proto__']: {} }, required: ['__proto__'] },
      JSON.parse('{"__proto__":{}}'),
    ],
    [
      {
        anyOf: [
          {
            properties: { left: { $ref: '#/$defs/tree' }, right: { $ref: '#/$defs/tree' } },
            required: ['left', 'right'],
          },
        ],
        $defs: {
          tree: {
            anyOf: [{ properties: { left: { $ref: '#/$defs/tree' } }, required: ['left'] }, { type: 'null' }],
          },
        },
      },
      { left: null, right: null },
    ],
    [true, null],
    [{}, {}],
  ])('of %j is %j', (schema, expected) => {
    expect(schemaInstance(schema)).toEqual(expected)
  })

  test.each([
    [{ type: 'string', pattern: '^a+$' }],
    [{ not: {} }],
    [{ $ref: '#/$defs/none' }],
    [{ $ref: 'https://example.com/schema' }],
    [{ $ref: '#' }],
    [{ allOf: [{ $ref: '#' }] }],
    [laughs(20)],
    [nested(1000)],
    [{ enum: [] }],
    [{ type: 'whatever' }],
    [{ type: 'integer', minimum: 3, maximum: 2 }],
    [{ type: 'array', minItems: 1e9 }],
    [{ type: 'string', minLength: 1e9 }],
    [{ type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] }],
    [false],
    ['text'],
    [null],
  ])('there is none of case %#', (schema) => {
    expect(() => schemaInstance(schema)).toThrow(SchemaInstanceError)
  })

  test('is accepted by the schema that it came from', () => {
    const { schema } = fc.letrec((tie) => ({
      schema: fc.oneof(
        { maxDepth: 4, depthSize: 'small' },
        fc.constantFrom({ type: 'boolean' }, { type: 'null' }, { enum: ['a', 3] }, { const: 'c' }),
        fc.record({ type: fc.constant('string'), minLength: fc.nat(5) }),
        fc
          .tuple(fc.integer({ min: -50, max: 50 }), fc.nat(50), fc.constantFrom('integer', 'number'))
          .map(([minimum, width, type]) => ({ type, minimum, maximum: minimum + width })),
        fc.record({ type: fc.constant('array'), items: tie('schema'), minItems: fc.nat(3) }),
        fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
        fc
          .dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema'), { maxKeys: 3 })
          .chain((properties) =>
            fc
              .subarray(Object.keys(properties))
              .map((required) => ({ type: 'object', properties, required, additionalProperties: false })),
          ),
      ),
    }))
    fc.assert(
      fc.property(schema, (each) => {
        const result = z.fromJSONSchema(each as never).safeParse(schemaInstance(each))
        expect(result.success, JSON.stringify(each)).toBe(true)
      }),
      { seed: 7, numRuns: 300 },
    )
  })
})
