import type { z } from 'zod'
import { badRequest } from './api-error.js'
import type { responsesBody } from './bodies.js'
import type { OfferedTool } from './tool-choice.js'

type Fields = Readonly<Record<string, unknown>>
type ResponsesBody = z.infer<typeof responsesBody>

/** `input` of a response as chat messages. Throws an `ApiError` of status 400 for items that are no part of a conversation. */
export function inputMessages(input: ResponsesBody['input']): Fields[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  return input.flatMap((item) => {
    const { type = 'message' } = item as { readonly type?: unknown }
    switch (type) {
      case 'message':
        if (typeof item['role'] !== 'string') throw badRequest('input: a message has no role', 'input')
        return [{ role: item['role'], content: item['content'] }]
      case 'function_call':
        return [callMessage(item['call_id'], item['name'], item['arguments'])]
      case 'function_call_output':
        return [{ role: 'tool', tool_call_id: item['call_id'], content: outputText(item['output']) }]
      case 'reasoning':
        return []
      default:
        throw badRequest(
          `input: item of type '${String(type)}'; accepted: message, function_call, function_call_output, reasoning`,
          'input',
        )
    }
  })
}

/** The message with which the model calls a function. */
export function callMessage(id: unknown, name: unknown, argumentsText: unknown): Fields {
  return {
    role: 'assistant',
    content: '',
    tool_calls: [{ id, type: 'function', function: { name, arguments: argumentsText } }],
  }
}

function outputText(output: unknown): unknown {
  return typeof output === 'string' || Array.isArray(output) ? output : JSON.stringify(output ?? '')
}

/** The functions among the tools of a response; other tools run elsewhere. */
function functionsOf(body: ResponsesBody): Fields[] {
  return (body.tools ?? []).filter(({ type }) => type === 'function')
}

/** Its functions as chat tools. */
export function chatToolsOf(body: ResponsesBody): object[] | undefined {
  const functions = functionsOf(body)
  if (functions.length === 0) return undefined
  return functions.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }))
}

/** Its functions, and the choice among them, as `chosenCall` takes them. */
export function toolChoiceOf(body: ResponsesBody): {
  readonly tools: readonly OfferedTool[]
  readonly choice: { readonly name: string } | 'required' | undefined
} {
  const tools = functionsOf(body).map(({ name, parameters }) => ({ name: String(name), parameters }))
  const { tool_choice: choice } = body
  if (choice === 'required') return { tools, choice }
  if (typeof choice !== 'object' || choice === null) return { tools, choice: undefined }
  if (choice.type !== 'function' || typeof choice.name !== 'string')
    throw badRequest(
      'tool_choice: accepted are none, auto, required, and a function by its name',
      'tool_choice',
    )
  return { tools, choice: { name: choice.name } }
}
