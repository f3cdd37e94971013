import type { Conversation } from '../engine/serving.js'
import { type TemplateMessage, type TemplateToolCall, refuse, templateMessages } from './messages.js'

/** What the built-in model's prompts put where an image is. */
export const builtInImagePlaceholder = '<|image|>'

const [start, end] = ['<|im_start|>', '<|im_end|>'] as const

/**
 * The prompt of a conversation for the built-in model: what its chat template says, without a template engine. Throws
 * `MOCK_ENGINE_CONVERSATION_INVALID`.
 */
export function renderBuiltIn(conversation: Conversation): string {
  const { tools, documents, addGenerationPrompt, continueFinalMessage, templateArguments } = conversation
  const messages = templateMessages(conversation.messages, builtInImagePlaceholder)
  checkContinuation(messages, conversation)
  const [first] = messages
  const system = first?.role === 'system' ? first : undefined
  const rest = system === undefined ? messages : messages.slice(1)
  const head = [
    ...(system === undefined ? [] : [system.content]),
    ...(tools?.length ? [toolsText(tools)] : []),
    ...(documents?.length ? [documentsText(documents)] : []),
  ]
  const last = continueFinalMessage ? messages.at(-1)! : undefined
  // The system message comes first in the block of its own; nothing may follow it in there when it is to be continued.
  if (last !== undefined && last === system) return `${start}system\n${system.content}`
  const blocks = rest.map((message) =>
    message === last ? `${start}${message.role}\n${message.content}` : messageText(message),
  )
  const generation = addGenerationPrompt ? generationText(templateArguments['enable_thinking']) : ''
  return (
    (head.length > 0 ? `${start}system\n${head.join('\n\n')}${end}\n` : '') + blocks.join('') + generation
  )
}

function toolCallsText(calls: readonly TemplateToolCall[]): string {
  return calls
    .map(({ function: { name, arguments: given } }) => {
      return `<tool_call>\n{"name": ${pythonJson(name)}, "arguments": ${pythonJson(given)}}\n</tool_call>`
    })
    .join('\n')
}

/** A conversation cannot be continued and answered at once, nor continued where nothing is. Throws `MOCK_ENGINE_CONVERSATION_INVALID`. */
export function checkContinuation(
  messages: readonly TemplateMessage[],
  { addGenerationPrompt, continueFinalMessage }: Conversation,
): void {
  if (!continueFinalMessage) return
  if (addGenerationPrompt) refuse('add_generation_prompt', true, 'false when the final message is continued')
  if (messages.length === 0) refuse('messages', [], 'a final message to be continued')
}

function messageText({ role, content, tool_calls: calls = [] }: TemplateMessage): string {
  const between = content !== '' && calls.length > 0 ? '\n' : ''
  return `${start}${role}\n${content}${between}${toolCallsText(calls)}${end}\n`
}

function generationText(enableThinking: unknown): string {
  return `${start}assistant\n${enableThinking === false ? '<think>\n\n</think>\n\n' : ''}`
}

function toolsText(tools: readonly unknown[]): string {
  const how = 'Call one by <tool_call>, its name and arguments as JSON, and </tool_call>.'
  return ['Functions:', ...tools.map(pythonJson), how].join('\n')
}

function documentsText(documents: readonly unknown[]): string {
  return ['Documents:', ...documents.map(pythonJson)].join('\n')
}

/** JSON with the spaces that Python's `json.dumps` writes. */
function pythonJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  return `{${Object.entries(value)
    .map(([key, field]) => `${JSON.stringify(key)}: ${pythonJson(field)}`)
    .join(', ')}}`
}
