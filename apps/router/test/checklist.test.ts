import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Ids of a letter: numbers and ranges of them. */
const idsOf = (letter: string, ...numbers: (number | readonly [first: number, last: number])[]) =>
  numbers
    .map((one) => (typeof one === 'number' ? ([one, one] as const) : one))
    .flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, at) => `${letter}${first + at}`))

/** What this version promises. */
const promised = [
  ...idsOf('A', [1, 3], 5, 7, 8),
  ...idsOf('C', 1),
  ...idsOf('F', 1, [3, 6]),
  ...idsOf('G', [1, 3]),
  ...idsOf('M', [1, 4]),
  ...idsOf('Q', 6),
  ...idsOf('H', [1, 4]),
  ...idsOf('E', [1, 8]),
  ...idsOf('I', [1, 7]),
  ...idsOf('S', [1, 8]),
  ...idsOf('U', 1, [3, 5], 7, [9, 11], [13, 17], [19, 22], 24, 26, [30, 49], [53, 55]),
]

interface Row {
  readonly id: string
  readonly files: readonly string[]
}

const rows: Row[] = readFileSync(`${root}docs/checklist.md`, 'utf8')
  .split('\n')
  .filter((line) => /^\| [A-Z]\d+ \|/.test(line))
  .map((line) => {
    const [, id = '', , tests = ''] = line.split('|').map((cell) => cell.trim())
    return { id, files: [...tests.matchAll(/`([^`]+)`/g)].map(([, path]) => path!) }
  })

/** A title: what follows `it(`, `test(`, `describe(`, or the table of their `each`; none that is switched off. */
const title =
  /(?:\b(?:it|test|describe)(?:\.(?!skip\b|todo\b|fails\b)\w+)*|\))\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g

/** Titles of the tests of a file and of the groups that they are in. */
function titlesOf(path: string): string[] {
  return [...readFileSync(root + path, 'utf8').matchAll(title)].map(([, , text]) => text!)
}

/** Ids in a title; `U31-U34` are four. */
function idsIn(title: string): string[] {
  return [...title.matchAll(/\b([A-Z])(\d+)(?:-[A-Z]?(\d+))?\b/g)].flatMap(
    ([, letter, first, last = first]) => idsOf(letter!, [Number(first), Number(last)]),
  )
}

describe('docs/checklist.md', () => {
  it('has a row for everything that is promised, and for nothing else', () => {
    expect(rows.map(({ id }) => id).toSorted()).toEqual(promised.toSorted())
  })

  it('names files with such tests', () => {
    const known = new Map<string, ReadonlySet<string>>()
    const idsOfFile = (path: string): ReadonlySet<string> => {
      const ids = known.get(path) ?? new Set(existsSync(root + path) ? titlesOf(path).flatMap(idsIn) : [])
      known.set(path, ids)
      return ids
    }
    const unproven = rows.flatMap(({ id, files }) => [
      ...(files.length === 0 ? [`${id}: no file`] : []),
      ...files.filter((path) => !idsOfFile(path).has(id)).map((path) => `${id}: no such title in ${path}`),
    ])
    expect(unproven).toEqual([])
  })
})
