import type { z } from 'zod'
import { type NotCovered, type RawLine, ShapeError, type VectorFamily, parseLine } from './family.js'
import {
  drrDocument,
  policyShapes,
  queueKinds,
  sessionDocument,
  thunderAgentKinds,
} from './waiting-shapes.js'

// Shapes that wait for their package. The issue that adds the package replaces the entry by a family with an evaluator.

const queue = 'the queue of @router/core'
const sessions = 'sessions in @router/core'
const thunderAgent = '@router/policy-thunderagent'

/** The package of every policy type that no shipped package has yet. */
const packageOfType: Readonly<Record<string, string>> = {
  'dynamo-two-tier-cost-fn': '@router/policy-two-tier',
  chwbl: '@router/policy-chwbl',
  dualmap: '@router/policy-dualmap',
  lmetric: '@router/policy-lmetric',
  ramjet: '@router/policy-ramjet',
  'llm-d-optimized-baseline': '@router/policy-llm-d',
  'llm-d-precise-prefix': '@router/policy-llm-d',
  'dynamo-jsew': '@router/policy-jsew',
  'sticky-session': '@router/policy-sticky',
  'dynamo-sticky-min-load': '@router/policy-sticky',
  'dynamo-soft-affinity-load-guard': '@router/policy-sticky',
  'dynamo-subagent-group-affinity': '@router/policy-sticky',
  'learned-choice': '@router/policy-learned-choice',
  thunderagent: thunderAgent,
}

/** Why a line about this policy type cannot be evaluated; `undefined` = nobody knows the type. */
export function waitingPolicy(type: string, component?: string): NotCovered | undefined {
  const needs = packageOfType[type]
  return needs === undefined
    ? undefined
    : { about: component === undefined ? type : `${type} ${component}`, needs }
}

function waiting(
  name: string,
  needs: string,
  recognises: (line: RawLine) => boolean,
  schemaOf: z.ZodType | ((line: RawLine) => z.ZodType),
): VectorFamily {
  return {
    name,
    claims: (baseName) => baseName === name,
    recognises,
    notCovered: (line) => (recognises(line) ? { about: name, needs } : undefined),
    checkWaiting: (line) => parseLine(typeof schemaOf === 'function' ? schemaOf(line) : schemaOf, line),
    covers: `nothing yet: needs ${needs}`,
    evaluate: (line) => {
      throw new ShapeError([`unknown shape: not a line of ${name} (${Object.keys(line).join(', ')})`])
    },
  }
}

function shapeOfPolicy(line: RawLine): z.ZodType {
  return policyShapes[line['policy'] as string]!
}

function policyFile(name: string, needs: string, ...types: readonly string[]): VectorFamily {
  return waiting(
    name,
    needs,
    (line) => types.includes(line['policy'] as string) && line['kind'] === undefined,
    shapeOfPolicy,
  )
}

const has =
  (...fields: readonly string[]) =>
  (line: RawLine) =>
    fields.every((field) => field in line)
const isKind =
  (...kinds: readonly string[]) =>
  (line: RawLine) =>
    kinds.includes(line['kind'] as string)

/** Files of JSON lines that nothing evaluates yet. */
export const waitingFamilies: readonly VectorFamily[] = [
  policyFile('two-tier', '@router/policy-two-tier', 'dynamo-two-tier-cost-fn'),
  policyFile('chwbl', '@router/policy-chwbl', 'chwbl'),
  policyFile('dualmap', '@router/policy-dualmap', 'dualmap'),
  policyFile('lmetric', '@router/policy-lmetric', 'lmetric'),
  policyFile('ramjet', '@router/policy-ramjet', 'ramjet'),
  policyFile('llm-d', '@router/policy-llm-d', 'llm-d-optimized-baseline', 'llm-d-precise-prefix'),
  policyFile('jsew', '@router/policy-jsew', 'dynamo-jsew'),
  policyFile(
    'sticky',
    '@router/policy-sticky',
    'sticky-session',
    'dynamo-sticky-min-load',
    'dynamo-soft-affinity-load-guard',
    'dynamo-subagent-group-affinity',
  ),
  policyFile('learned-choice', '@router/policy-learned-choice', 'learned-choice'),
  waiting(
    'rust-queue',
    queue,
    (line) => {
      if (line['kind'] === 'admission') return has('classes', 'steps')(line)
      return isKind('policy-queue', 'class-resolution', 'policy-file')(line)
    },
    queueKinds,
  ),
  waiting(
    'thunderagent',
    thunderAgent,
    (line) => {
      if (line['policy'] === 'thunderagent') return line['kind'] === 'selector'
      return isKind('admission', 'pause', 'greedy-resume', 'decay-weight', 'shared-prefix-budget')(line)
    },
    (line) => (line['policy'] === undefined ? thunderAgentKinds : shapeOfPolicy(line)),
  ),
]

/** Files that are one JSON document. */
export const waitingDocuments: readonly VectorFamily[] = [
  waiting('drr', queue, has('conventions', 'scenarios'), drrDocument),
  waiting('rust-session', sessions, has('sessionFromPrefix', 'conditionalDisagg'), sessionDocument),
]
