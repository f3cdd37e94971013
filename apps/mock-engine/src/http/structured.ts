import { badRequest } from './api-error.js'
import { SchemaInstanceError, schemaInstance } from './schema-instance.js'

/** What a request may say of the form of the answer. */
export interface StructuredFields {
  readonly response_format?:
    | { readonly type: string; readonly json_schema?: Readonly<Record<string, unknown>> | null | undefined }
    | null
    | undefined
  readonly guided_json?: unknown
  readonly guided_choice?: readonly string[] | null | undefined
  readonly guided_regex?: unknown
  readonly guided_grammar?: unknown
  readonly structured_outputs?: Readonly<Record<string, unknown>> | null | undefined
}

/** The text that a request for a certain form gets; undefined = it asks for none. Throws an `ApiError` of status 400 for forms that are not simulated. */
export function structuredText(fields: StructuredFields): string | undefined {
  const format = fields.response_format
  if (format !== undefined && format !== null && format.type !== 'text') {
    if (format.type === 'json_object') return '{}'
    if (format.type !== 'json_schema')
      throw badRequest(
        `response_format.type: got '${format.type}', accepted: text, json_object, json_schema`,
        'response_format',
      )
    const schema = format.json_schema?.['schema']
    if (schema === undefined)
      throw badRequest('response_format.json_schema.schema: missing', 'response_format')
    return jsonText(schema, 'response_format')
  }
  for (const [source, prefix] of [
    [fields as Readonly<Record<string, unknown>>, 'guided_'],
    [fields.structured_outputs ?? {}, ''],
  ] as const) {
    const asked = (name: string) => source[`${prefix}${name}`] ?? undefined
    for (const name of ['regex', 'grammar', 'structural_tag'])
      if (asked(name) !== undefined)
        throw badRequest(
          `${prefix}${name} is not simulated; accepted: ${prefix}json, ${prefix}choice`,
          `${prefix}${name}`,
        )
    const choice = asked('choice') as readonly string[] | undefined
    if (choice !== undefined) return choice[0]!
    const json = asked('json')
    if (json !== undefined) return jsonText(json, `${prefix}json`)
    if (asked('json_object') === true) return '{}'
  }
  return undefined
}

/** A small instance of a schema, as JSON. Throws an `ApiError` of status 400 where there is none, or it cannot be made up. */
export function jsonText(schema: unknown, param: string): string {
  try {
    return JSON.stringify(schemaInstance(typeof schema === 'string' ? JSON.parse(schema) : schema))
  } catch (error) {
    if (error instanceof SchemaInstanceError || error instanceof SyntaxError)
      throw badRequest(`${param}: ${error.message}`, param)
    throw error
  }
}
