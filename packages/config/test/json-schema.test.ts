import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { routerPolicyJsonSchema, routerPolicyJsonSchemaText } from '../src/index.js'

const committed = readFileSync(new URL('../schema/router-policy.schema.json', import.meta.url), 'utf8')
const validate = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true }).compile(
  JSON.parse(committed) as object,
)

test('the committed schema is the generated one; `pnpm run schema` writes it', () => {
  expect(routerPolicyJsonSchemaText()).toBe(committed)
  expect(JSON.parse(committed)).toEqual(routerPolicyJsonSchema())
})

describe('accepts', () => {
  test.each([
    'worker_selection: {decode: a, instances: [{name: a, type: dynamo-kv-capacity-aware, package: "@acme/x", version: ">=1", runtime: true, parameters: {x: [1]}}]}',
    'worker_selection:\nrouter: {use_kv_events: true, shared_cache_type: hicache, router_predicted_ttl_secs: null}',
    'default_policy_family: a\nuncached_isl_buckets: [{min_tokens: 0, bucket: x}]\npolicy_classes: [{name: a-x, policy_family: a, cache_bucket: x, quantum: 1, queue_policy: wspt}]',
    'models: {m: {default_policy_class: a, policy_classes: [{name: a, slo_ms: 1.5, quantum: 1, busy_worker_ratio: 1}]}}',
    'request_classifier: {type: c, parameters: {}}',
  ])('%s', (yaml) => {
    expect(validate(parse(yaml)), JSON.stringify(validate.errors)).toBe(true)
  })
})

describe('refuses', () => {
  test.each([
    ['{}', ''],
    ['planner: 1', ''],
    ['worker_selection: {planner: a}', '/worker_selection'],
    ['worker_selection: {instances: [{name: a}]}', '/worker_selection/instances/0'],
    ['worker_selection: {instances: [{name: a b, type: t}]}', '/worker_selection/instances/0/name'],
    [
      'worker_selection: {instances: [{name: a, type: t, parameters: }]}',
      '/worker_selection/instances/0/parameters',
    ],
    ['router: {host_cache_hit_weight: 2}', '/router/host_cache_hit_weight'],
    ['router: {use_kv_events: null}', '/router/use_kv_events'],
    ['policy_classes: [{name: a, quantum: 0}]', '/policy_classes/0/quantum'],
    ['policy_classes: [{name: a, quantum: 1, queue_policy: lcfs}]', '/policy_classes/0/queue_policy'],
    ['models: {m: {router: {}}}', '/models/m'],
    ['request_classifier: {parameters: {}}', '/request_classifier'],
  ])('%s', (yaml, place) => {
    expect(validate(parse(yaml))).toBe(false)
    expect(validate.errors!.map(({ instancePath }) => instancePath)).toContain(place)
  })
})

test('every key has a description for editors', () => {
  const undescribed: string[] = []
  const visit = (schema: Record<string, unknown>, path: string): void => {
    for (const [key, property] of Object.entries(
      (schema['properties'] ?? {}) as Record<string, Record<string, unknown>>,
    )) {
      if (typeof property['description'] !== 'string') undescribed.push(`${path}.${key}`)
      visit(property, `${path}.${key}`)
    }
    if (typeof schema['items'] === 'object') visit(schema['items'] as Record<string, unknown>, `${path}[]`)
    if (typeof schema['additionalProperties'] === 'object')
      visit(schema['additionalProperties'] as Record<string, unknown>, `${path}.*`)
  }
  visit(routerPolicyJsonSchema() as Record<string, unknown>, '')
  expect(undescribed).toEqual([])
})
