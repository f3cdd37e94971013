import { PromptError } from '../errors.js'

/** A JSON object, read field by field. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Whether it is a JSON object (no list). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The items of a list; of anything else none. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** A refusal that names the field and what was found there. */
export function invalidField(name: string, value: unknown, expected: string): PromptError {
  const found = Array.isArray(value) ? 'a list' : value === null ? 'null' : `a value of type ${typeof value}`
  const details = { key: name, expected }
  return new PromptError('PROMPT_BODY_INVALID', `${name}: got ${found}; expected ${expected}`, { details })
}
