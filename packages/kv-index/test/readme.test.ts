import { beforeAll, describe, expect, it } from 'vitest'
import readme from '../README.md?raw'
import * as words from '../src/hash-words.js'
import * as hasher from '../src/hashing/block-hasher.js'
import * as hashes from '../src/hashing/block-hashes.js'
import * as session from '../src/hashing/session-prefix.js'
import * as tracking from '../src/hashing/tracking.js'

const fixtures = import.meta.glob(['./fixtures/*.js'], { query: '?raw', import: 'default', eager: true })

it.each(Object.entries(fixtures))('the README shows the example %s as it runs here', (_file, text) => {
  expect(readme).toContain(`\`\`\`js\n${text}\`\`\`\n`)
})

describe('the example of hashing', () => {
  interface Example {
    readonly prefixOf: (tokens: readonly number[], namespace?: object) => bigint[]
    readonly conversationOf: (tokens: readonly number[], namespace?: object) => string | undefined
  }
  let example: Example
  beforeAll(async () => {
    // @ts-expect-error -- plain JavaScript, as an embedder would save it
    example = (await import('./fixtures/hash-prompt.js')) as Example
  })
  const turn = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)

  it('tells how far two prompts agree', () => {
    const first = example.prefixOf(turn(70))
    expect(first).toHaveLength(4)
    expect(example.prefixOf([...turn(40), ...turn(30)])).toEqual([
      ...first.slice(0, 2),
      expect.any(BigInt),
      expect.any(BigInt),
    ])
    expect(example.prefixOf([...turn(40), ...turn(30)])[2]).not.toBe(first[2])
    expect(example.prefixOf(turn(70), { cacheSalt: 'tenant-1' })[0]).not.toBe(first[0])
  })

  it('knows a conversation by its start', () => {
    expect(example.conversationOf(turn(31))).toBeUndefined()
    expect(example.conversationOf(turn(32))).toMatch(/^prefix:[0-9a-f]{16}$/u)
    expect(example.conversationOf(turn(500))).toBe(example.conversationOf(turn(32)))
  })
})

describe('the README on hashing', () => {
  const calls = Object.getOwnPropertyNames(hasher.BlockHasher.prototype).filter(
    (name) => name !== 'constructor',
  )
  const exported = Object.keys({ ...hasher, ...hashes, ...session, ...tracking, ...words })
  const others =
    'defaultSecretHex engineIdentifier engineObjectHash hashedBlocks objectsByBlock padToken replaceImageTokens HashWords isEagle ' +
    'imageToken setPublic setUnshared setGiven'

  it.each([...calls, ...exported, ...others.split(' ')])('names %s', (name) => {
    expect(readme).toMatch(new RegExp(`\\b${name}\\b`, 'u'))
  })
})
