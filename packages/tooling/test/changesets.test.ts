import { expect, test } from 'vitest'
import { checkChangesets } from '../src/checks/changesets.js'
import { type Files, temporaryFolder, withValue } from './support/files.js'

const EXPERIMENTAL = '___experimentalUnsafeOptions_WILL_CHANGE_IN_PATCH'
const CONFIGURATION = {
  fixed: [],
  linked: [],
  [EXPERIMENTAL]: { onlyUpdatePeerDependentsWhenOutOfRange: true },
}

function problemsOf(changes: Files, configuration: object = CONFIGURATION): string[] {
  return checkChangesets(
    temporaryFolder({
      '.changeset/config.json': JSON.stringify(configuration),
      '.changeset/README.md': '# Changes\n',
      'packages/sdk/package.json': '{ "name": "@router/sdk" }',
      'packages/tooling/package.json': '{ "name": "@router/tooling", "private": true }',
      ...changes,
    }),
  )
}

test('a change file names published packages and the size of the step', () => {
  expect(problemsOf({})).toEqual([])
  expect(problemsOf({ '.changeset/a.md': '---\n"@router/sdk": minor\n---\n\nText.\n' })).toEqual([])
  expect(problemsOf({ '.changeset/a.md': '---\n---\n\nNothing to publish.\n' })).toEqual([])
})

test.each([
  ['---\n"@router/tooling": minor\n---\n', 'a.md: @router/tooling is not a published package'],
  ['---\n"@router/sdk": huge\n---\n', "a.md: @router/sdk: 'huge' is none of patch, minor, major"],
  ['Text.\n', 'a.md: has no front matter'],
])('%j', (text, problem) => {
  expect(problemsOf({ '.changeset/a.md': text })).toEqual([`.changeset/${problem}`])
})

test.each([
  [['fixed'], [['@router/*']], '"fixed" should be []'],
  [['linked'], undefined, '"linked" should be []'],
  [[EXPERIMENTAL], undefined, '"onlyUpdatePeerDependentsWhenOutOfRange" should be true'],
])('%j = %j', (keys, value, problem) => {
  expect(problemsOf({}, withValue(CONFIGURATION, keys, value))).toEqual([
    `.changeset/config.json: ${problem}`,
  ])
})

test('the configuration is needed', () => {
  expect(problemsOf({ '.changeset/config.json': undefined })).toEqual(['.changeset/config.json is missing'])
})
