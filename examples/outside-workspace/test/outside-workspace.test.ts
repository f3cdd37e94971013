import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { policyFile, runOutsideWorkspace } from '../run.mjs'

const minute = 60_000

it(
  'takes a policy of 25 lines, outside the workspace, from YAML to a selection and through the laws',
  { timeout: 4 * minute },
  async () => {
    const policy = readFileSync(policyFile, 'utf8')
    expect(policy.trimEnd().split('\n').length).toBeLessThanOrEqual(25)

    const { selection, laws } = await runOutsideWorkspace()
    expect(selection.split('\n').slice(0, 2)).toEqual([
      "loaded least-busy 0.1.0 of @acme/least-busy as 'fewest'",
      'selected worker 2, rank 0',
    ])
    const count = (word: string): number => Number(laws.match(new RegExp(`^# ${word} (\\d+)$`, 'mu'))?.[1])
    expect(laws).toMatch(/row-permutation/u)
    expect({ failed: count('fail'), cancelled: count('cancelled') }).toEqual({ failed: 0, cancelled: 0 })
    expect(count('pass')).toBeGreaterThan(60)
  },
)
