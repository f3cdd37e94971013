import type { z } from 'zod'
import { badRequest } from './api-error.js'
import type { countTokensBody } from './bodies.js'
import type { OfferedTool } from './tool-choice.js'

type Fields = Readonly<Record<string, unknown>>
type AnthropicBody = z.infer<typeof countTokensBody>

/** The messages of an Anthropic request as chat messages: system first, tool results as messages of their own. Throws an `ApiError` of status 400. */
export function chatMessagesOf(body: AnthropicBody): Fields[] {
  const system = body.system ?? undefined
  return [
    ...(system === undefined ? [] : [{ role: 'system', content: textOf(system, 'system') }]),
    ...body.messages.flatMap(({ role, content }) =>
      typeof content === 'string'
        ? [{ role, content }]
        : role === 'assistant'
          ? [assistantMessage(content)]
          : userMessages(role, content),
    ),
  ]
}

/** Its tools as chat tools. */
export function chatToolsOf({ tools }: AnthropicBody): object[] | undefined {
  return tools?.map(({ name, description, input_schema: parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }))
}

/** Its tools, and the choice among them, as `chosenCall` takes them. */
export function toolChoiceOf(body: AnthropicBody): {
  readonly tools: readonly OfferedTool[]
  readonly choice: { readonly name: string } | 'required' | undefined
} {
  const tools = (body.tools ?? []).map(({ name, input_schema: parameters }) => ({ name, parameters }))
  const type = body.tool_choice?.type
  if (type === 'any') return { tools, choice: 'required' }
  if (type !== 'tool') return { tools, choice: undefined }
  const name = body.tool_choice?.name ?? undefined
  if (name === undefined) throw badRequest('tool_choice.name: missing', 'tool_choice')
  return { tools, choice: { name } }
}

function assistantMessage(blocks: readonly Fields[]): Fields {
  const texts: string[] = []
  const calls: object[] = []
  for (const block of blocks) {
    if (block['type'] === 'text') texts.push(String(block['text'] ?? ''))
    else if (block['type'] === 'tool_use')
      calls.push({
        id: block['id'],
        type: 'function',
        function: { name: block['name'], arguments: JSON.stringify(block['input'] ?? {}) },
      })
    else if (block['type'] !== 'thinking' && block['type'] !== 'redacted_thinking')
      throw unknownBlock(block, 'text, tool_use, thinking, redacted_thinking')
  }
  return {
    role: 'assistant',
    content: texts.join('\n'),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

function userMessages(role: string, blocks: readonly Fields[]): Fields[] {
  const messages: Fields[] = []
  let parts: Fields[] = []
  const flush = () => {
    if (parts.length > 0) messages.push({ role, content: parts })
    parts = []
  }
  for (const block of blocks) {
    if (block['type'] === 'text') parts.push({ type: 'text', text: block['text'] })
    else if (block['type'] === 'image') parts.push(imagePart(block))
    else if (block['type'] === 'tool_result') {
      flush()
      messages.push({
        role: 'tool',
        tool_call_id: block['tool_use_id'],
        content: textOf(block['content'] ?? '', 'tool_result.content'),
      })
    } else throw unknownBlock(block, 'text, image, tool_result')
  }
  flush()
  return messages
}

function imagePart(block: Fields): Fields {
  const source = (block['source'] ?? {}) as Fields
  const url =
    source['type'] === 'url'
      ? source['url']
      : `data:${String(source['media_type'])};base64,${String(source['data'] ?? '')}`
  return { type: 'image_url', image_url: { url } }
}

function textOf(content: unknown, where: string): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw badRequest(`${where}: expected a text or a list of blocks`, 'messages')
  return (content as readonly (Fields | null)[])
    .map((block) => {
      if (block?.['type'] !== 'text') throw unknownBlock(block, `text (in ${where})`)
      return String(block['text'] ?? '')
    })
    .join('\n')
}

function unknownBlock(block: Fields | null, accepted: string) {
  return badRequest(`content block of type '${String(block?.['type'])}'; accepted: ${accepted}`, 'messages')
}
