import { readFileSync } from 'node:fs'
import { laws } from '@router/conformance'
import { expect, it } from 'vitest'

it('lists in README.md the laws of the source, in order', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const listed = Array.from(readme.matchAll(/^\| `([a-z-]+)` \|/gmu), ([, id]) => id)
  expect(listed).toEqual(laws.map(({ id }) => id))
})
