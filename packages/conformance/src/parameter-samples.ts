import { type PolicyDefinition, type WorkerInputName, workerRoles } from '@router/sdk'
import { z } from 'zod'
import { type Subject, inputScopeOf } from './subject.js'

/** The part of a JSON Schema that the laws read. */
export interface SchemaNode {
  readonly type?: string
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly propertyNames?: unknown
  readonly additionalProperties?: unknown
  readonly anyOf?: readonly SchemaNode[]
  readonly oneOf?: readonly SchemaNode[]
  readonly allOf?: readonly SchemaNode[]
  readonly items?: SchemaNode
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly default?: unknown
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, SchemaNode>>
}

/** JSON Schema of what a user may write as parameters. */
export function parameterSchema(policy: PolicyDefinition): SchemaNode {
  return z.toJSONSchema(policy.parameters, { io: 'input', unrepresentable: 'any' }) as SchemaNode
}

/** Visits a schema and everything inside, with the dotted path of each node; alternatives share the path of their parent. */
export function visitSchema(root: SchemaNode, visit: (node: SchemaNode, path: string) => void): void {
  const seen = new Set<SchemaNode>()
  const walk = (node: SchemaNode, path: string): void => {
    if (seen.has(node)) return
    seen.add(node)
    visit(node, path)
    for (const [key, child] of Object.entries(node.properties ?? {}))
      walk(child, path === '' ? key : `${path}.${key}`)
    for (const child of [...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? [])])
      walk(child, path)
    if (node.items !== undefined) walk(node.items, `${path}[]`)
    if (typeof node.additionalProperties === 'object')
      walk(node.additionalProperties as SchemaNode, `${path}.*`)
    const definition = node.$ref?.match(/^#\/\$defs\/(.+)$/u)?.[1]
    if (definition !== undefined && root.$defs?.[definition] !== undefined) walk(root.$defs[definition], path)
  }
  walk(root, '')
}

/** Dotted names of every parameter, branches included. */
export function parameterNames(policy: PolicyDefinition): Set<string> {
  const names = new Set<string>()
  visitSchema(parameterSchema(policy), (_node, path) => {
    if (path !== '') names.add(path)
  })
  return names
}

/**
 * Configured parameters near `configured` that the schema accepts: for each name one value after another of a small, telling
 * set, and then all of them together.
 */
export function acceptedVariants(subject: Subject, names: readonly string[]): Record<string, unknown>[] {
  const values = new Map<string, unknown[]>(names.map((name) => [name, []]))
  visitSchema(parameterSchema(subject.policy), (node, path) => {
    values.get(path)?.push(...tellingValues(node))
  })
  const accepts = (candidate: unknown): boolean => subject.policy.parameters.safeParse(candidate).success
  const singles = [...values].flatMap(([name, candidates]) =>
    candidates.map((value) => ({ name, value, configured: withParameter(subject.configured, name, value) })),
  )
  const accepted = singles.filter(({ configured }) => accepts(configured))
  const extremes = ['first', 'last'].map((end) => {
    let combined: Record<string, unknown> = { ...subject.configured }
    for (const name of names) {
      const own = accepted.filter((single) => single.name === name)
      const chosen = end === 'first' ? own[0] : own.at(-1)
      if (chosen !== undefined) combined = withParameter(combined, name, chosen.value)
    }
    return combined
  })
  return [...accepted.map(({ configured }) => configured), ...extremes.filter(accepts)]
}

function tellingValues(node: SchemaNode): unknown[] {
  if (node.enum !== undefined) return [...node.enum]
  if (node.const !== undefined) return [node.const]
  if (node.type === 'boolean') return [false, true]
  if (node.type === 'null') return [null]
  if (node.type !== 'number' && node.type !== 'integer') return []
  const bounds = [node.minimum, node.maximum].filter((bound) => bound !== undefined && Math.abs(bound) < 1e9)
  return [0, 0.25, 1, 7, ...bounds]
}

/** A copy of `configured` with the dotted name set. */
export function withParameter(
  configured: Readonly<Record<string, unknown>>,
  name: string,
  value: unknown,
): Record<string, unknown> {
  const [key, ...rest] = name.split('.') as [string, ...string[]]
  if (rest.length === 0) return { ...configured, [key]: value }
  const inner = configured[key]
  const branch = typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>) : {}
  return { ...configured, [key]: withParameter(branch, rest.join('.'), value) }
}

/** Every group that some parameters and some place could declare: what the component types may mention. */
export function possibleInputs(subject: Subject): Set<WorkerInputName> {
  const names = [...parameterNames(subject.policy)]
  const possible = new Set<WorkerInputName>()
  for (const configured of [subject.configured, ...acceptedVariants(subject, names)]) {
    const parameters = subject.policy.parameters.parse(configured)
    for (const role of workerRoles) {
      for (const conditionalDisaggregation of [false, true]) {
        const scope = inputScopeOf({ ...subject, role, conditionalDisaggregation }, true)
        for (const name of subject.policy.inputs(parameters, scope)) possible.add(name)
      }
    }
  }
  return possible
}

/** Parameters, or one value, for a message. */
export function parameterText(value: unknown): string {
  if (typeof value === 'number') return String(value)
  const text = JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'bigint' ? String(inner) : inner,
  )
  return text ?? String(value)
}
