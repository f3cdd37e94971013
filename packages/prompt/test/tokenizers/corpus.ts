/** A case that is recorded with the Rust library: a bare text, or a conversation in the form that a template gets. */
export type CorpusCase =
  | { readonly text: string; readonly addSpecialTokens: boolean }
  | {
      readonly messages: readonly CorpusMessage[]
      readonly tools?: readonly object[]
      readonly kwargs?: object
    }

/** A message; `content` and what else a template may look at. */
interface CorpusMessage {
  readonly role: string
  readonly content: string
  readonly [more: string]: unknown
}

const pieces = [
  'The quick brown fox jumps over the lazy dog.',
  'const total = items.reduce((sum, item) => sum + item.price * 1.25, 0)\n',
  '    if x == 1024:\n\t\treturn "no"\n\n\n',
  "don't I'll we've it's they'd I'm you're 'S 'LL",
  '1234567890 3.14159 -42 1e-7 2026-11-30',
  'Привет, мир! Ἀθηνᾶ ѐ',
  '東京は日本の首都です。カタカナとひらがな',
  '안녕하세요 세계',
  'مرحبا بالعالم',
  'नमस्ते दुनिया',
  '👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 👍🏽 😀😀😀',
  'e\u0301 \u00e9 \u1e9b\u0323 \ufb01 \u212b \uac00 \u1100\u1161',
  '\u00a0\u2003\u200b\u2028\u0085\ufeff\u3000',
  '   \t  \r\n \r \n\n   ',
  '∑∫√≠≤≥ → ⇒ ■ ▁▁▁ ▁',
  '<|im_start|>user\nhello<|im_end|>',
  '<|eot_id|><|start_header_id|>system<|end_header_id|>',
  '<start_of_turn>model\n<end_of_turn><bos>',
  '<｜User｜>hi<｜Assistant｜><｜end▁of▁sentence｜>',
  '<think>\nhm\n</think>\n\nanswer <tool_call>{"name": "f"}</tool_call>',
  '<|im_start <|im_|end|> <| |> <｜ <start_of <unused12> <unused1',
  'https://example.org/path?query=a%20b&c=d#e',
  'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
  '!!!!????....----____====;;;;::::""""\'\'\'\'',
  '{"a": [1, 2, {"b": null}], "c": "\\u00e9\\n"}',
  '\u0000\u0001\u001f\u007f',
]

/** The next of an endless row of whole numbers below `below`, the same on every machine. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const tools = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      description: "Weather of a city; 'now' if no day is given",
      parameters: {
        type: 'object',
        properties: {
          city: { type: 'string', description: 'e.g. "München"' },
          days: { type: 'number', minimum: 0.5, maximum: 14, default: 1.5 },
        },
        required: ['city'],
      },
    },
  },
  { type: 'function', function: { name: 'stop', description: null, parameters: null } },
]

/** The cases of the recorded digests, always the same. */
export function corpus(): CorpusCase[] {
  const next = numbers(11)
  const text = (longest: number): string => {
    const count = 1 + next(longest)
    return Array.from({ length: count }, () => pieces[next(pieces.length)]!).join(next(2) === 0 ? ' ' : '')
  }
  const cases: CorpusCase[] = pieces.flatMap((piece) => [
    { text: piece, addSpecialTokens: false },
    { text: ` ${piece}${piece}`, addSpecialTokens: false },
  ])
  for (let index = 0; index < 120; index++) cases.push({ text: text(12), addSpecialTokens: index % 4 === 0 })
  for (let index = 0; index < 60; index++) {
    const messages: CorpusMessage[] = next(2) === 0 ? [] : [{ role: 'system', content: text(3) }]
    const turns = 1 + next(5)
    for (let turn = 0; turn < turns; turn++) {
      messages.push({ role: 'user', content: text(4) })
      if (turn + 1 < turns) messages.push({ role: 'assistant', content: text(4) })
    }
    const withTools = next(3) === 0
    cases.push(withTools ? { messages, tools } : { messages, kwargs: { enable_thinking: next(2) === 0 } })
  }
  for (let index = 0; index < 12; index++) {
    const call = {
      name: 'get_weather',
      arguments: { city: text(1), days: index / 2, exact: index % 3 === 0 },
    }
    const messages = [
      { role: 'user', content: text(2) },
      { role: 'assistant', content: text(1), tool_calls: [{ id: 'c1', type: 'function', function: call }] },
      { role: 'tool', content: text(3), tool_call_id: 'c1' },
      { role: 'tool', content: text(1), tool_call_id: 'c2' },
      ...(index % 2 === 0
        ? []
        : [{ role: 'assistant', content: `\n ${text(2)} \n`, reasoning_content: text(1) }]),
    ]
    cases.push({ messages, tools })
  }
  return cases
}
