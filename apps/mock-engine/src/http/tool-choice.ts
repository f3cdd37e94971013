import { badRequest } from './api-error.js'
import { jsonText } from './structured.js'

/** A function that the model may call. */
export interface OfferedTool {
  readonly name: string
  readonly parameters: unknown
}

/** The call that the model makes. */
export interface ToolCall {
  readonly name: string
  /** JSON. */
  readonly arguments: string
  /** Whether the client named the function itself. */
  readonly isNamed: boolean
}

/**
 * The call that a request gets: of the named tool, or of the first where some call is required; undefined = text. Its arguments are a
 * small instance of the tool's schema. Throws an `ApiError` of status 400 for a choice that is not offered.
 */
export function chosenCall(
  tools: readonly OfferedTool[],
  choice: { readonly name: string } | 'required' | undefined,
): ToolCall | undefined {
  if (choice === undefined) return undefined
  if (tools.length === 0) throw badRequest('When using `tool_choice`, `tools` must be set.', 'tool_choice')
  const isNamed = choice !== 'required'
  const tool = isNamed ? tools.find(({ name }) => name === choice.name) : tools[0]!
  if (tool === undefined)
    throw badRequest(
      'The tool specified in `tool_choice` does not match any of the specified `tools`: ' +
        tools.map(({ name }) => name).join(', '),
      'tool_choice',
    )
  const schema = tool.parameters ?? { type: 'object' }
  return { name: tool.name, arguments: jsonText(schema, `tools.${tool.name}.parameters`), isNamed }
}
