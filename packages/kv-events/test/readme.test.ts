import { describe, expect, it } from 'vitest'
import readme from '../README.md?raw'
import * as kvEvents from '../src/index.js'
import * as sockets from '../src/zeromq/index.js'

describe('the README', () => {
  it.each(Object.keys({ ...kvEvents, ...sockets }))('names the export %s', (name) => {
    expect(readme).toMatch(new RegExp(`\`${name}\``, 'u'))
  })

  it.each([...kvEvents.FILTER_REASONS, ...kvEvents.NOOP_REASONS])('names the reason %s', (reason) => {
    expect(readme).toContain(`\`${reason}\``)
  })

  const { MAX_GROUPS_PER_RANK, MAX_AMBIGUOUS_PER_RANK, MAX_RANKS, MAX_COUNTED_BLOCKS } = kvEvents
  it.each(Object.entries({ MAX_GROUPS_PER_RANK, MAX_AMBIGUOUS_PER_RANK, MAX_RANKS, MAX_COUNTED_BLOCKS }))(
    'gives %s as it is',
    (name, value) => {
      const row = readme.split('\n').find((line) => line.includes(`(\`${name}\`)`))
      expect(row).toContain(`| ${value.toLocaleString('en')} |`)
    },
  )
})
