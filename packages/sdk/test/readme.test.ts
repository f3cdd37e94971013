import { beforeAll, describe, expect, it } from 'vitest'
import readme from '../README.md?raw'
import type { CandidatesFor, PolicyDefinition, WorkerPicker, WorkerScorer } from '../src/index.js'
import * as sdk from '../src/index.js'

const [example = ''] = Object.values(
  import.meta.glob(['./fixtures/least-requests.js'], { query: '?raw', import: 'default', eager: true }),
)

type View = CandidatesFor<readonly ['load']>
interface Built {
  readonly scorers: readonly WorkerScorer<View>[]
  readonly picker: WorkerPicker<View>
}

const scope = { random: () => new sdk.WyRand(42n) } as unknown as sdk.PolicyScope
const context = {} as sdk.WorkerSelectionContext

function viewOf(requests: readonly (number | undefined)[]): View {
  const column = Float64Array.from(requests, (count) => count ?? Number.NaN)
  return {
    count: requests.length,
    canonicalRows: undefined,
    load: {
      isAvailable: Uint8Array.from(requests, (count) => (count === undefined ? 0 : 1)),
      activeRequests: column,
    },
  } as unknown as View
}

describe('the policy of the README', () => {
  let policies: readonly PolicyDefinition[]
  beforeAll(async () => {
    // @ts-expect-error -- plain JavaScript, as a newcomer would save it
    policies = (await import('./fixtures/least-requests.js')).policies
  })

  function build(parameters: object): Built {
    const config = {
      decode: 'mine',
      instances: [{ name: 'mine', type: 'acme-least-requests', package: 'p', parameters }],
    }
    const catalog = new sdk.PolicyCatalog().registerPackage('p', { policies })
    const { definition, parameters: parsed } = catalog.resolveForRole(config, 'decode')
    return definition.create(parsed, scope) as unknown as Built
  }

  function choose({ scorers, picker }: Built, view: View): number {
    const costs = new Float64Array(view.count).fill(Number.NaN)
    scorers[0]!.score(context, view, costs)
    expect(costs.every(Number.isFinite)).toBe(true)
    return picker.pick(context, view, costs)
  }

  it('is the text of the fixture, in at most 25 lines', () => {
    expect(readme).toContain(`\`\`\`js\n${example}\`\`\`\n`)
    expect(example.trimEnd().split('\n').length).toBeLessThanOrEqual(25)
  })

  it('takes the row with the fewest requests, and its word for rows without data', () => {
    expect(choose(build({}), viewOf([4, 2, 7]))).toBe(1)
    expect(choose(build({}), viewOf([4, 2, undefined]))).toBe(2)
    expect(choose(build({ assumed_requests: 3 }), viewOf([4, 2, undefined]))).toBe(1)
  })

  it('breaks ties as the seeded reservoir does', () => {
    const built = build({})
    const picks = Array.from({ length: 6 }, () => choose(built, viewOf([1, 1, 1])))
    expect(picks).toEqual([0, 2, 0, 0, 2, 1])
  })

  it('refuses parameters that it does not know', () => {
    expect(() => build({ assumed: 3 })).toThrow(
      /unknown parameter 'assumed', got 3, accepted: assumed_requests/u,
    )
    expect(() => build({ assumed_requests: -1 })).toThrow(/-1/u)
  })
})

describe('README', () => {
  it.each(Object.keys(sdk).filter((name) => !name.startsWith('_')))('names the export %s', (name) => {
    expect(readme).toMatch(new RegExp(`\`[^\`]*\\b${name}\\b`, 'u'))
  })
})
