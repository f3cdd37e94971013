import fc from 'fast-check'
import type { Conversation } from '../../../src/engine/serving.js'

/** What a chat without anything special says. */
export const conversation = (
  messages: Conversation['messages'],
  rest: Partial<Omit<Conversation, 'messages'>> = {},
): Conversation => ({
  messages,
  addGenerationPrompt: true,
  continueFinalMessage: false,
  templateArguments: {},
  ...rest,
})

/** Any text: words, code, many scripts, special tokens, halves of surrogate pairs. */
export const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
  // Any UTF-16 code units, surrogates out of place too.
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 })
    .map((units) => String.fromCharCode(...units)),
  fc
    .array(
      fc.constantFrom(
        ' router',
        'the',
        ' block',
        "don't",
        "I'LL",
        '  ',
        '\n\n',
        '\t ',
        ' \u00a0',
        '\u0085',
        '\ufeff',
        '12345',
        '...',
        ' {"a": 1}',
        'é',
        '漢字',
        '👩‍👩‍👧',
        '<|im_start|>',
        '<|im_end|>',
        '<|im_',
        '<|endoftext|>',
        '\ud83d',
        '\ude00',
        'aaaaaaaa',
        '========',
      ),
      { maxLength: 30 },
    )
    .map((parts) => parts.join('')),
)

const json = fc.jsonValue({ maxDepth: 3, noUnicodeString: false }).filter((value) => !hasOddNumber(value))

/** Numbers that Python and JavaScript write in different ways. */
function hasOddNumber(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isSafeInteger(value) || Object.is(value, -0)
  return typeof value === 'object' && value !== null && Object.values(value).some(hasOddNumber)
}

const fields = fc.dictionary(fc.string({ unit: 'grapheme' }), json, { maxKeys: 4 })

const content = fc.oneof(
  { weight: 3, arbitrary: anyText },
  fc.array(
    fc.oneof(
      anyText.map((text) => ({ type: 'text', text })),
      fc.record({ type: fc.constant('image_url'), image_url: fc.record({ url: fc.webUrl() }) }),
    ),
    { maxLength: 4 },
  ),
)

const toolCall = fc.record({
  id: fc.string(),
  type: fc.constant('function'),
  function: fc.record({
    name: fc.string({ unit: 'grapheme' }),
    arguments: fc.oneof(
      fields,
      fields.map((value) => JSON.stringify(value)),
      fc.constant(''),
    ),
  }),
})

const message = fc.oneof(
  fc.record({ role: fc.constantFrom('user', 'system', 'developer', 'critic'), content }),
  fc.record(
    {
      role: fc.constant('assistant'),
      content: fc.option(content),
      tool_calls: fc.array(toolCall, { maxLength: 3 }),
      name: fc.string(),
    },
    { requiredKeys: ['role'] },
  ),
  fc.record({ role: fc.constant('tool'), tool_call_id: fc.string(), content }),
)

/** Conversations as clients write them. */
export const anyConversation: fc.Arbitrary<Conversation> = fc
  .record({
    messages: fc.array(message, { maxLength: 6 }),
    tools: fc.option(
      fc.array(fc.record({ type: fc.constant('function'), function: fields }), { maxLength: 3 }),
      { nil: undefined },
    ),
    documents: fc.option(fc.array(fields, { maxLength: 3 }), { nil: undefined }),
    ending: fc.constantFrom('answer', 'continue', 'neither'),
    templateArguments: fc.constantFrom(
      {},
      { enable_thinking: false },
      { enable_thinking: true },
      { other: 1 },
    ),
  })
  .map(({ ending, messages, ...rest }) => ({
    ...rest,
    messages,
    addGenerationPrompt: ending === 'answer',
    continueFinalMessage: ending === 'continue' && messages.length > 0,
  }))
