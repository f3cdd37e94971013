import { parseExactJson } from './exact-json.js'
import { type JsonObject, invalidField, isObject, listOf } from './json-objects.js'
import type { ContentFormat } from './template/content-format.js'
import { strip } from './template/python-text.js'

/** Stands for the first media part in a rendering that shows where it goes; of the private use area, as no prompt has it. */
const mediaMark = '\uf8f1\ue0f5\uf8fe'
/** Stands behind a final message that is to be continued, with a space that is gone where the template takes white space off. */
const endMark = '\uf8f1\ue0f6\uf8fe'

/** A conversation as its template sees it. */
export interface Conversation {
  readonly messages: readonly JsonObject[]
  /** The same with the first media part marked by text, where there is one. */
  readonly markedMessages: readonly JsonObject[] | undefined
  /** Text of the final message that is to be continued, where it has one. */
  readonly finalText: string | undefined
}

/**
 * Messages of a chat request, as vLLM hands them to a template: content in the template's format, parts of no text left out, nothing
 * as empty, arguments of tool calls as objects. A media part is `{type: 'image'}` or the like in a list, and nothing in a text. Where
 * the final message is continued, its text has a mark for `upToFinalMessage` behind it. Throws `PROMPT_BODY_INVALID`.
 */
export function conversationOf(messages: unknown, format: ContentFormat, isContinued = false): Conversation {
  if (!Array.isArray(messages)) throw invalidField('messages', messages, 'a list of messages')
  const read = messages.map((message, index) => templateMessage(message, index, format, false))
  const withMedia = messages.findIndex(hasMedia)
  const marked =
    withMedia < 0
      ? undefined
      : read.with(withMedia, templateMessage(messages[withMedia], withMedia, format, true))
  const final = isContinued ? finalTextOf(read) : undefined
  if (final === undefined) return { messages: read, markedMessages: marked, finalText: undefined }
  return { messages: withEndMark(read), markedMessages: marked && withEndMark(marked), finalText: final }
}

function finalTextOf(messages: readonly JsonObject[]): string | undefined {
  const content = messages.at(-1)?.['content']
  if (typeof content === 'string') return content
  const part = listOf(content).findLast(hasText)
  return part && (part['text'] as string)
}

/** Marks the end of the last text of the final message. */
function withEndMark(messages: readonly JsonObject[]): readonly JsonObject[] {
  const last = messages.at(-1)!
  const marked = (text: unknown): string => `${String(text)}${endMark} `
  const { content } = last
  if (typeof content === 'string') return messages.with(-1, { ...last, content: marked(content) })
  const parts = listOf(content)
  const at = parts.findLastIndex(hasText)
  const part = parts[at] as JsonObject
  return messages.with(-1, { ...last, content: parts.with(at, { ...part, text: marked(part['text']) }) })
}

function hasText(part: unknown): part is JsonObject {
  return isObject(part) && typeof part['text'] === 'string'
}

function templateMessage(
  message: unknown,
  index: number,
  format: ContentFormat,
  isMarked: boolean,
): JsonObject {
  if (!isObject(message)) throw invalidField(`messages[${index}]`, message, 'a message')
  const role = message['role']
  if (typeof role !== 'string') throw invalidField(`messages[${index}].role`, role, 'a text')
  const read: Record<string, unknown> = {
    role,
    content: contentOf(message['content'], index, format, isMarked),
  }
  if (role === 'assistant') {
    const reasoning = message['reasoning_content'] ?? message['reasoning']
    if (reasoning !== undefined && reasoning !== null) {
      read['reasoning_content'] = reasoning
      read['reasoning'] = reasoning
    }
    const calls = message['tool_calls']
    if (Array.isArray(calls) && calls.length > 0) read['tool_calls'] = calls.map(toolCall)
  }
  if (role === 'tool' && message['tool_call_id'] !== undefined) read['tool_call_id'] = message['tool_call_id']
  if (typeof message['name'] === 'string') read['name'] = message['name']
  return read
}

function contentOf(content: unknown, index: number, format: ContentFormat, isMarked: boolean): unknown {
  // The common case, which is to copy nothing.
  if (typeof content === 'string' && format === 'string') return content
  if (content !== undefined && content !== null && typeof content !== 'string' && !Array.isArray(content))
    throw invalidField(`messages[${index}].content`, content, 'a text or a list of parts')
  const given = typeof content === 'string' ? [content] : listOf(content)
  const parts = given.map((part, at) => templatePart(part, `messages[${index}].content[${at}]`))
  if (format === 'openai') {
    const marked = isMarked ? parts.findIndex((part) => part['type'] !== 'text') : -1
    const shown = marked < 0 ? parts : parts.with(marked, { type: 'text', text: mediaMark })
    return shown.filter((part) => part['text'] !== '')
  }
  const texts = parts.filter(({ text }) => typeof text === 'string' && text !== '').map(({ text }) => text)
  // Engines put what stands for media before the texts.
  return (isMarked ? [mediaMark, ...texts] : texts).join('\n')
}

/** A text part, or one of another type, of which the type alone is kept. */
function templatePart(part: unknown, name: string): JsonObject {
  if (typeof part === 'string') return { type: 'text', text: part }
  if (!isObject(part)) throw invalidField(name, part, 'a part of a message')
  if (isMediaPart(part)) return { type: mediaType(part) }
  const text = textOfPart(part)
  if (typeof text === 'string') return { type: 'text', text }
  throw invalidField(`${name}.text`, text, 'a text')
}

function textOfPart(part: JsonObject): unknown {
  return part['text'] ?? part['refusal'] ?? part['thinking'] ?? ''
}

const textTypes = new Set(['text', 'input_text', 'output_text', 'refusal', 'thinking'])

function isMediaPart(part: JsonObject): boolean {
  const type = part['type']
  return typeof type === 'string' ? !textTypes.has(type) : typeof part['text'] !== 'string'
}

function mediaType(part: JsonObject): string {
  const named = typeof part['type'] === 'string' ? part['type'] : (Object.keys(part)[0] ?? 'file')
  return /image|audio|video/.exec(named)?.[0] ?? named
}

function hasMedia(message: unknown): boolean {
  if (!isObject(message)) return false
  return listOf(message['content']).some((part) => isObject(part) && isMediaPart(part))
}

function toolCall(call: unknown): unknown {
  if (!isObject(call) || !isObject(call['function'])) return call
  const given = call['function']['arguments']
  return { ...call, function: { ...call['function'], arguments: argumentsOf(given) } }
}

/** Objects as they are, texts parsed, none = an empty object; what is no JSON stays a text. */
function argumentsOf(given: unknown): unknown {
  if (given === undefined || given === null || given === '') return {}
  if (typeof given !== 'string') return given
  try {
    return parseExactJson(given)
  } catch {
    return given
  }
}

/** Tools as vLLM shows them to a template: known fields in its order, `null` where there is none, then what else was given. */
export function templateTools(tools: unknown): unknown {
  if (tools === undefined || tools === null) return null
  if (!Array.isArray(tools)) throw invalidField('tools', tools, 'a list of tools')
  return tools.map((tool) => {
    if (!isObject(tool) || !isObject(tool['function'])) return tool
    const { type = 'function', function: called, ...rest } = tool
    const { name, description = null, parameters = null, ...others } = called as JsonObject
    return { type, function: { name, description, parameters, ...others }, ...rest }
  })
}

/**
 * The messages of a responses request: instructions, then its input, a text or a list of items. Throws `PROMPT_BODY_INVALID`.
 */
export function responsesMessages(body: JsonObject): readonly JsonObject[] {
  const { instructions, input } = body
  const first = typeof instructions === 'string' ? [{ role: 'system', content: instructions }] : []
  if (typeof input === 'string') return [...first, { role: 'user', content: input }]
  if (!Array.isArray(input)) throw invalidField('input', input, 'a text or a list of items')
  return [...first, ...input.map(itemMessage)]
}

function itemMessage(item: unknown, index: number): JsonObject {
  if (!isObject(item)) throw invalidField(`input[${index}]`, item, 'an item')
  const { type, name, arguments: given, call_id: id } = item
  if (type === 'function_call')
    return { role: 'assistant', tool_calls: [{ id, function: { name, arguments: given }, type: 'function' }] }
  if (type === 'function_call_output') return { role: 'tool', content: item['output'], tool_call_id: id }
  if (type === 'reasoning') {
    const parts = listOf(item['content'] ?? item['summary']).map((part) =>
      isObject(part) ? part['text'] : '',
    )
    return { role: 'assistant', reasoning_content: parts.join('\n') }
  }
  return item
}

/** The tools of a responses request, which has them flat, in the form of a chat request. */
export function responsesTools(tools: unknown): unknown {
  if (!Array.isArray(tools)) return tools
  return tools.map((tool) => {
    if (!isObject(tool) || isObject(tool['function'])) return tool
    const { name, description, parameters } = tool
    return { type: 'function', function: { name, description, parameters } }
  })
}

/**
 * The rendered text up to the end of the final message, which the engine is to continue: white space that the template took off is
 * not asked for. Undefined = the template does not print the message, or prints another.
 */
export function upToFinalMessage(rendered: string, finalText: string): string | undefined {
  const at = rendered.lastIndexOf(endMark)
  if (at < 0 || !rendered.includes(strip(finalText, 'strip'))) return undefined
  const text = rendered.slice(0, at)
  return rendered[at + endMark.length] === ' ' ? text : strip(text, 'rstrip')
}
