import { describe, expect, it } from 'vitest'
import { isSame } from '../src/harness/variant.js'
import { groups } from '../src/selection/groups/index.js'
import { variantNamed } from '../src/selection/selection-bench.js'

const workers = 16

/** Workers that a variant of the holes group picks in many selections; slots are in canonical order there. */
function pickedWorkers(hole: string): Set<number> {
  const body = variantNamed('holes', workers, { name: `holes/${hole}`, temperature: 0 }).prepare()
  return new Set(Array.from({ length: 200 }, () => body() >> 1))
}

describe('groups', () => {
  it('name every row once', () => {
    const names = groups.flatMap(({ sizes, contest }) =>
      sizes.flatMap((size) =>
        contest(size).variants.map(({ name, temperature }) => `${size} ${name} ${temperature}`),
      ),
    )
    expect(new Set(names).size).toBe(names.length)
  })

  it('compare variants that they have', () => {
    for (const { contest } of groups) {
      const { variants, comparisons } = contest(workers)
      for (const { of, to } of comparisons) {
        expect(variants.some((variant) => isSame(variant, of))).toBe(true)
        expect(variants.some((variant) => isSame(variant, to))).toBe(true)
      }
    }
  })

  it('cover the sizes of the default selection', () => {
    expect(groups.find(({ name }) => name === 'default')!.sizes).toEqual([8, 64, 256, 1024, 4096])
  })
})

describe('holes', () => {
  it('leave out the overloaded worker', () => {
    const whole = pickedWorkers('none')
    const middle = workers >> 1
    expect(whole.size).toBeGreaterThan(0)
    expect(pickedWorkers('one-overloaded').has(middle)).toBe(false)
    expect(pickedWorkers('flag-flips').has(middle)).toBe(false)
  })

  it('leave half of the fleet where a taint is required', () => {
    const picked = [...pickedWorkers('required-taint')]
    expect(picked.length).toBeGreaterThan(0)
    expect(picked.every((worker) => worker % 2 === 1)).toBe(true)
  })

  it('decide alike with and without WebAssembly', () => {
    for (const hole of ['none', 'one-overloaded', 'required-taint', 'unknown-loads', 'flag-flips']) {
      const name = (suffix: string) => ({ name: `holes/${hole}${suffix}`, temperature: 0 })
      const simd = variantNamed('holes', workers, name('')).prepare()
      const plain = variantNamed('holes', workers, name('-js')).prepare()
      for (let selection = 0; selection < 20; selection++) expect(plain()).toBe(simd())
    }
  })
})
