import { createHash } from 'node:crypto'
import type { Conversation } from '../engine/serving.js'
import { MockEngineError } from '../errors.js'

/** A message as templates see it: its content is text, the arguments of its tool calls are objects. */
export interface TemplateMessage {
  readonly role: string
  readonly content: string
  readonly name?: unknown
  readonly tool_calls?: readonly TemplateToolCall[]
  readonly tool_call_id?: unknown
  readonly reasoning?: unknown
  readonly reasoning_content?: unknown
}

/** A tool call as templates see it. */
export interface TemplateToolCall {
  readonly function: { readonly name: unknown; readonly arguments: unknown }
}

type Fields = Readonly<Record<string, unknown>>

/**
 * Messages as vLLM hands them to a template that wants text: text parts are joined by newlines, behind one placeholder for each image
 * that the text does not name itself; arguments of tool calls that are JSON text are parsed. Fields that no template is given are left
 * out. `imagePlaceholder` absent = the model sees no images. Throws `MOCK_ENGINE_CONVERSATION_INVALID`.
 */
export function templateMessages(
  messages: Conversation['messages'],
  imagePlaceholder: string | undefined,
): TemplateMessage[] {
  return messages.map((message, index) => {
    if (!isFields(message)) return refuse(`messages[${index}]`, message, 'an object')
    const { role, name, tool_calls: toolCalls, tool_call_id: toolCallId } = message
    if (typeof role !== 'string' || role === '') return refuse(`messages[${index}].role`, role, 'a text')
    const reasoning = message['reasoning'] ?? message['reasoning_content']
    return {
      role,
      content: contentText(message['content'], `messages[${index}].content`, imagePlaceholder),
      ...(isGiven(name) && { name }),
      ...(isGiven(toolCallId) && { tool_call_id: toolCallId }),
      ...(role === 'assistant' && isGiven(reasoning) && { reasoning, reasoning_content: reasoning }),
      ...(role === 'assistant' &&
        Array.isArray(toolCalls) &&
        toolCalls.length > 0 && {
          tool_calls: toolCalls.map((call, at) => toolCallOf(call, `messages[${index}].tool_calls[${at}]`)),
        }),
    }
  })
}

/**
 * The identifiers of the images of a conversation, in the order of their placeholders: the client's `uuid`, or SHA-256 of its bytes or
 * of its URL in hexadecimal digits.
 */
export function imageIdentifiers({ messages }: Pick<Conversation, 'messages'>): string[] {
  return messages.flatMap(({ content }) =>
    Array.isArray(content) ? content.filter(isImage).map((part) => identifierOf(part)) : [],
  )
}

const textFields = new Map([
  ['text', 'text'],
  ['input_text', 'text'],
  ['output_text', 'text'],
  ['refusal', 'refusal'],
])

function contentText(content: unknown, where: string, placeholder: string | undefined): string {
  if (typeof content === 'string') return content
  if (!isGiven(content)) return ''
  if (!Array.isArray(content)) return refuse(where, content, 'a text, a list of parts, or null')
  const texts: string[] = []
  let images = 0
  for (const [index, part] of content.entries()) {
    if (isImage(part)) images++
    else texts.push(partText(part, `${where}[${index}]`))
  }
  const text = texts.join('\n')
  if (images === 0) return text
  if (placeholder === undefined) return refuse(where, 'an image', 'text only: the model sees no images')
  const missing = images - (text.split(placeholder).length - 1)
  if (missing < 0)
    return refuse(where, text, `at most ${images} placeholders ${placeholder}, one for each image`)
  return [...Array.from({ length: missing }, () => placeholder), text].join('\n')
}

function partText(part: unknown, where: string): string {
  if (typeof part === 'string') return part
  if (!isFields(part)) return refuse(where, part, 'an object with a type')
  const field = textFields.get(String(part['type']))
  if (field === undefined)
    return refuse(
      `${where}.type`,
      part['type'],
      `${[...textFields.keys()].join(', ')}, image_url, input_image`,
    )
  const text = part[field]
  return typeof text === 'string' ? text : refuse(`${where}.${field}`, text, 'a text')
}

function isImage(part: unknown): part is Fields {
  return isFields(part) && (part['type'] === 'image_url' || part['type'] === 'input_image')
}

function identifierOf(part: Fields): string {
  const { uuid, image_url: image } = part
  if (typeof uuid === 'string' && uuid !== '') return uuid
  const url = isFields(image) ? image['url'] : image
  if (typeof url !== 'string' || url === '') return refuse('image_url.url', url, 'a URL or data URL')
  const base64 = /^data:[^,]*;base64,/.exec(url)?.[0]
  return createHash('sha256')
    .update(base64 === undefined ? url : Buffer.from(url.slice(base64.length), 'base64'))
    .digest('hex')
}

function toolCallOf(call: unknown, where: string): TemplateToolCall {
  const called = isFields(call) ? call['function'] : undefined
  if (!isFields(call) || !isFields(called)) return refuse(where, call, 'an object with a function')
  if (typeof called['name'] !== 'string') return refuse(`${where}.function.name`, called['name'], 'a text')
  return {
    ...call,
    function: {
      ...called,
      name: called['name'],
      arguments: argumentsOf(called['arguments'], `${where}.function.arguments`),
    },
  }
}

function argumentsOf(value: unknown, where: string): unknown {
  // As vLLM: nothing at all is no arguments.
  if (!isGiven(value) || value === '') return {}
  if (typeof value === 'object') return value
  try {
    if (typeof value === 'string') return JSON.parse(value)
  } catch {
    // Refused below.
  }
  return refuse(where, value, 'an object, or JSON text')
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Throws `MOCK_ENGINE_CONVERSATION_INVALID` for a part of a conversation. */
export function refuse(where: string, value: unknown, accepted: string): never {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  const shown = text.length > 80 ? `${text.slice(0, 80)}...` : text
  throw new MockEngineError(
    'MOCK_ENGINE_CONVERSATION_INVALID',
    `${where}: expected ${accepted}, got ${shown}`,
  )
}
