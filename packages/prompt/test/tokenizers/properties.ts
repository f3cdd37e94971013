import fc from 'fast-check'
import type { PromptError } from '../../src/errors.js'
import { conversationOf, templateTools } from '../../src/tokenizer/conversation.js'
import { PromptTokenizer } from '../../src/tokenizer/prompt-tokenizer.js'
import { ChatTemplate } from '../../src/tokenizer/template/chat-template.js'
import { readTokenizerFiles } from '../../src/tokenizer/tokenizer-files.js'
import { libraryTokenizer } from '../../src/tokenizer/tokenizer-library.js'
import { anyCharacter } from '../support/characters.js'

/** Small enough that segments are dropped all the time. */
const cacheBytes = 24_000

/** What was done in a run of the properties. */
export interface PropertyCounts {
  prompts: number
  refused: number
  tokens: number
  reusedTokens: number
}

interface Message {
  readonly role: string
  readonly content: unknown
  readonly [more: string]: unknown
}

interface Edit {
  readonly kind: 'grow' | 'change' | 'drop' | 'tools' | 'again'
  readonly at: number
  readonly text: string
  readonly reply: string
}

const fragments = [
  'Hello there, ',
  'let x = 10_000;\n',
  "it's ",
  '\n\n',
  '    ',
  '\t',
  ' \u00a0\u2003',
  '\ufeff',
  'ünïcödé e\u0301 ',
  '東京へ行く',
  '👩‍👩‍👧 🇩🇪',
  '\ud83d',
  '\udc69 ',
  '1234567',
  '</think>',
  '<',
  '▁',
  '',
]

/** Texts with what confuses tokenizers: special tokens and halves of them, odd white space, lone surrogates, nothing at all. */
function texts(added: readonly string[]): fc.Arbitrary<string> {
  const special = fc.constantFrom(...added)
  const piece = fc.oneof(
    fc.constantFrom(...fragments),
    special,
    special.map((token) => token.slice(0, -1)),
    special.map((token) => token.slice(1)),
    fc.string({ unit: anyCharacter, maxLength: 8 }),
    fc.string({ unit: fc.constantFrom('a', ' ', '\n', '<', '|', '😀', '\ud800'), maxLength: 12 }),
  )
  return fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''))
}

function edits(text: fc.Arbitrary<string>): fc.Arbitrary<Edit[]> {
  const kind = fc.constantFrom<Edit['kind']>('grow', 'grow', 'grow', 'change', 'drop', 'tools', 'again')
  return fc.array(fc.record({ kind, at: fc.nat(), text, reply: text }), { minLength: 1, maxLength: 7 })
}

/**
 * Reads random conversations that grow, shrink and change, and single texts; each prompt must have the ids that the library gives
 * for its whole text. Throws with the smallest counterexample.
 */
export function checkProperties(folder: string, runs: { numRuns: number; seed: number }): PropertyCounts {
  const tokenizer = PromptTokenizer.load(folder, { cacheBytes })
  const files = readTokenizerFiles(folder)
  const library = libraryTokenizer(files.tokenizer, files.config)
  const template = files.templates.get('default')
  if (!(template instanceof ChatTemplate)) throw new Error(`${folder}: no chat template`)
  const counts: PropertyCounts = { prompts: 0, refused: 0, tokens: 0, reusedTokens: 0 }

  const whole = (text: string): number[] => library.encode(text, { add_special_tokens: false }).ids
  const read = (endpoint: 'chat' | 'completions', body: object): number[] => {
    const prompt = tokenizer.read(endpoint, new TextEncoder().encode(JSON.stringify(body)))
    counts.prompts++
    counts.tokens += prompt.tokens.length
    counts.reusedTokens += prompt.reusedTokens
    if (tokenizer.cachedBytes > cacheBytes) throw new Error(`the cache has ${tokenizer.cachedBytes} bytes`)
    if (prompt.exactTokens !== prompt.tokens.length) throw new Error(`${prompt.exactTokens} exact tokens`)
    return [...prompt.tokens]
  }
  const checkChat = (messages: readonly Message[], tools: readonly object[] | undefined): void => {
    const expected = outcome(() => {
      const conversation = conversationOf(messages, template.contentFormat)
      const variables = { ...files.specialTokens, documents: null, add_generation_prompt: true }
      const shown = { ...variables, messages: conversation.messages, tools: templateTools(tools) }
      return whole(template.render(shown, { maximumCharacters: 1e9, now: () => new Date() }))
    })
    const found = outcome(() => read('chat', { messages, tools }))
    if (found === 'PROMPT_TEMPLATE_FAILED') counts.refused++
    if (String(found) !== String(expected)) throw new Error(`ids ${found} instead of ${expected}`)
  }

  const text = texts(files.addedTokens.map(({ content }) => content))
  const conversations = fc.property(text, fc.boolean(), edits(text), (first, hasSystem, changes) => {
    const messages: Message[] = hasSystem ? [{ role: 'system', content: first }] : []
    messages.push({ role: 'user', content: first })
    let tools: readonly object[] | undefined
    checkChat(messages, tools)
    for (const edit of changes) {
      if (edit.kind === 'tools') tools = tools === undefined ? [toolOf(edit)] : undefined
      else apply(messages, edit)
      checkChat(messages, tools)
    }
  })
  const prompts = fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (parts) => {
    const prompt = parts.join('')
    const found = read('completions', { prompt, add_special_tokens: false })
    const expected = whole(prompt)
    if (String(found) !== String(expected)) throw new Error(`ids ${found} instead of ${expected}`)
  })
  fc.assert(conversations, runs)
  fc.assert(prompts, runs)
  return counts
}

function apply(messages: Message[], { kind, at, text, reply }: Edit): void {
  if (kind === 'drop') messages.splice(Math.max(1, messages.length - 2))
  if (kind === 'change') {
    const index = at % messages.length
    messages[index] = { ...messages[index]!, content: text === '' ? null : [{ type: 'text', text }] }
  }
  if (kind !== 'grow') return
  const last = messages.at(-1)!
  if (last.role === 'user') {
    const isCall = at % 5 === 0
    const call = {
      id: 'c',
      type: 'function',
      function: { name: 'f', arguments: JSON.stringify({ a: reply }) },
    }
    messages.push({ role: 'assistant', content: reply, ...(isCall ? { tool_calls: [call] } : {}) })
    if (isCall) messages.push({ role: 'tool', content: text, tool_call_id: 'c' })
  }
  messages.push({ role: messages.at(-1)!.role === 'tool' ? 'assistant' : 'user', content: text })
}

function toolOf({ text, at }: Edit): object {
  const parameters = { type: 'object', properties: { [text]: { type: 'number', default: at / 4 } } }
  return { type: 'function', function: { name: 'f', description: text, parameters } }
}

/** What a call gives, or the code of what it throws. */
function outcome(call: () => number[]): number[] | string {
  try {
    return call()
  } catch (error) {
    const { code } = error as PromptError
    if (code !== 'PROMPT_TEMPLATE_FAILED') throw error
    return code
  }
}
