import fc from 'fast-check'

/** JSON text of a value, written in one of the ways in which clients write it: spaces, escapes, numbers beyond doubles, keys twice. */
const scalar = fc.oneof(
  fc.constantFrom(
    'null',
    'true',
    'false',
    '1.0',
    '-0',
    '1e3',
    '0.10',
    '9007199254740993',
    '18446744073709551615',
    '-9223372036854775808',
  ),
  fc.integer().map(String),
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => JSON.stringify(text)),
  fc.constantFrom('"\\u0041\\/\\ud83d\\ude00"', '"}],{"', '"\\"stream\\": true"', '"data: [DONE]"', '""'),
)
const space = fc.constantFrom('', '', ' ', '\n  ', '\t')
const key = fc.oneof(
  fc.constantFrom('a', 'b', 'stream_option', 'model_', 'x', '\\u0061', 'nvext ', 'n'),
  fc.string({ maxLength: 6 }).map((text) => JSON.stringify(text).slice(1, -1)),
)

function objectText(value: fc.Arbitrary<string>, maxLength: number): fc.Arbitrary<string> {
  return fc
    .array(fc.tuple(space, key, space, value, space), { maxLength })
    .map(
      (entries) =>
        `{${entries.map(([a, name, b, text, c]) => `${a}"${name}"${b}:${b}${text}${c}`).join(',')}}`,
    )
}

const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('json'), { maxLength: 3 }).map((items) => `[${items.join(', ')}]`),
    objectText(tie('json'), 3),
  ),
}))

const text = (values: readonly string[]) => fc.constantFrom(...values)
const optional = (name: string, value: fc.Arbitrary<string>) =>
  fc.option(
    value.map((written) => [name, written] as const),
    { nil: undefined },
  )

/** Fields that engines know, and that mean something to nobody else. */
const knownFields = [
  optional(
    'tools',
    text([
      '[]',
      '[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}}}}}]',
    ]),
  ),
  optional('logprobs', text(['true', 'false', 'null'])),
  optional('top_logprobs', text(['2'])),
  optional('n', text(['1', '2'])),
  optional('echo', text(['false', 'true'])),
  optional('seed', text(['9007199254740993', '-1', '12'])),
  optional('temperature', text(['1.0', '0', '0.70'])),
  optional('user', text(['"\\u00e9\\u0301"', '"é"', '"\\\\"'])),
  optional(
    'guided_json',
    text(['{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}']),
  ),
  optional('x_unknown', json),
  optional('metadata', objectText(json, 3)),
  // Twice in some bodies.
  optional('temperature', text(['0.5'])),
  optional('x_unknown', json),
]

/** The edits that a body gives reason to. */
export interface GeneratedBody {
  readonly text: string
  /** Without what the router is expected to take out: `nvext`. */
  readonly withoutNvext: string
}

/** Chat bodies that an engine takes, spaces and order as they come; some with `nvext`, some streamed. */
export const chatBodies: fc.Arbitrary<GeneratedBody> = fc
  .tuple(
    fc.tuple(...knownFields),
    text([
      '"hello"',
      '"\\u0068ello \\ud83d\\ude00"',
      '[{"type": "text", "text": "hi"}]',
      '[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]',
    ]),
    fc.option(text(['true', 'false']), { nil: undefined }),
    fc.option(
      text([
        'null',
        '{}',
        '{"include_usage": true}',
        '{ "include_usage":false, "x": 1.0 }',
        '{"other": 9007199254740993}',
      ]),
      { nil: undefined },
    ),
    fc.option(fc.tuple(fc.nat(20), text(['{"annotations": ["a"]}', '{ }', '{"agent_hints":{"osl":5}}'])), {
      nil: undefined,
    }),
    fc.nat(),
    space,
  )
  .map(([known, content, stream, options, nvext, turn, gap]) => {
    const fields: (readonly [string, string])[] = [
      ['model', '"mock-model"'],
      ['messages', `[{"role": "user",${gap}"content": ${content}}]`],
      ['max_tokens', '2'],
      ...known.filter((field) => field !== undefined),
      ...(stream === undefined ? [] : [['stream', stream] as const]),
      ...(options === undefined || stream !== 'true' ? [] : [['stream_options', options] as const]),
    ]
    const order = [...fields.slice(turn % fields.length), ...fields.slice(0, turn % fields.length)]
    const entries = order.map(([name, value]) => `${gap}"${name}":${gap}${value}`)
    const withoutNvext = `${gap}{${entries.join(',')}}`
    if (nvext === undefined) return { text: withoutNvext, withoutNvext }
    const at = nvext[0] % (entries.length + 1)
    const all = [...entries.slice(0, at), `"nvext":${nvext[1]}`, ...entries.slice(at)]
    return { text: `${gap}{${all.join(',')}}`, withoutNvext }
  })

/** JSON objects of any kind, with some of the keys that the router edits, once, twice, or not at all. */
export const anyBodies: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc.tuple(key, json),
      fc.tuple(text(['nvext', 'cache_salt', 'model']), json),
      fc.tuple(fc.constant('stream'), text(['true', 'false'])),
      fc.tuple(
        fc.constant('stream_options'),
        text(['null', '{}', '{"include_usage":true}', '{"include_usage":null,"a":1.0}']),
      ),
    ),
    { maxLength: 9 },
  )
  .map((entries) => `{${entries.map(([name, value]) => `"${name}" : ${value}`).join(' , ')}}`)
