import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { isPublished, readJson, workspacePackages } from '../workspace.js'

const BUMPS = ['patch', 'minor', 'major']
const INDEPENDENT = { fixed: [], linked: [] }
const EXPERIMENTAL = '___experimentalUnsafeOptions_WILL_CHANGE_IN_PATCH'

/**
 * Checks that packages are versioned one by one, and that every pending change file names published packages.
 * @param {string} root of the workspace
 * @returns {string[]} problems, one line each
 */
export function checkChangesets(root) {
  const folder = join(root, '.changeset')
  if (!existsSync(join(folder, 'config.json'))) return ['.changeset/config.json is missing']
  const published = workspacePackages(root).filter(isPublished)
  const names = new Set(published.map(({ manifest }) => manifest.name))
  return [
    ...configurationProblems(readJson(join(folder, 'config.json'))),
    ...readdirSync(folder)
      .filter((file) => file.endsWith('.md') && file !== 'README.md')
      .flatMap((file) =>
        changeProblems(readFileSync(join(folder, file), 'utf8'), names).map((it) => `${file}: ${it}`),
      ),
  ].map((problem) => `.changeset/${problem}`)
}

/** @param {any} configuration */
function configurationProblems(configuration) {
  return [
    ...Object.entries(INDEPENDENT)
      .filter(([field, value]) => JSON.stringify(configuration[field]) !== JSON.stringify(value))
      .map(([field]) => `config.json: "${field}" should be []`),
    ...(configuration[EXPERIMENTAL]?.onlyUpdatePeerDependentsWhenOutOfRange === true
      ? []
      : ['config.json: "onlyUpdatePeerDependentsWhenOutOfRange" should be true']),
  ]
}

/**
 * @param {string} text of a change file
 * @param {Set<string>} names of the published packages
 * @returns {string[]}
 */
function changeProblems(text, names) {
  const [, frontMatter] = /^---\n([\s\S]*?)\n?---\n/.exec(text) ?? []
  if (frontMatter === undefined) return ['has no front matter']
  return Object.entries(parse(frontMatter) ?? {}).flatMap(([name, bump]) => [
    ...(names.has(name) ? [] : [`${name} is not a published package`]),
    ...(BUMPS.includes(bump) ? [] : [`${name}: '${bump}' is none of ${BUMPS.join(', ')}`]),
  ])
}
