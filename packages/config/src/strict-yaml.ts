import { type JsonSchema, inputSchemaOf } from '@router/sdk'
import type { z } from 'zod'
import { explainFault, withoutEchoes } from './accepted.js'
import { type Fault, maximumIssues, throwIssues, toIssue } from './issues.js'
import { readValues } from './read-value.js'
import { parseYaml } from './yaml-source.js'

/**
 * Parses the YAML of any file as strictly as a policy file: exact integers, no repeated keys, and errors with line, column and
 * what the schema accepts. Errors (`ConfigError` with all issues): `ROUTER_CONFIG_PARSE`, `ROUTER_CONFIG_INVALID`.
 * @param fileName for messages
 * @param schema strict objects; a text key takes any plain scalar as its source text, a nullish key may be null
 */
export function parseStrictYaml<S extends z.ZodType>(text: string, fileName: string, schema: S): z.output<S> {
  const source = parseYaml(text, fileName)
  const { value, issues } = readValues(source, schema)
  throwIssues(issues, 'ROUTER_CONFIG_PARSE')
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const faults = withoutEchoes(faultsOf(result.error, value, inputSchemaOf(schema)))
  throwIssues(
    faults.map((fault) => toIssue(fault, source)),
    'ROUTER_CONFIG_INVALID',
  )
  throw result.error
}

/** What a schema has against a value, key by key; the first `maximumIssues`. */
export function faultsOf(error: z.ZodError, value: unknown, schema: JsonSchema): Fault[] {
  const faults: Fault[] = []
  for (const issue of error.issues) {
    const path = issue.path as (string | number)[]
    const paths = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...path, key]) : [path]
    for (const each of paths) {
      if (faults.length === maximumIssues) return faults
      faults.push(explainFault({ path: each, message: issue.message }, value, schema))
    }
  }
  return faults
}
