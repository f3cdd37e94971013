import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runNode } from './children.mjs'
import { runPnpm } from './pnpm.mjs'
import { ROOT } from './root.mjs'

/**
 * One item of the suite.
 * @typedef {object} Check
 * @property {string} name
 * @property {string} what for the help text
 * @property {string} [needs] name of the check that must have passed before
 * @property {() => Promise<{ ok: boolean, output: string, note?: string }>} run `note` is shown when it passes
 */

const OXFMT = 'node_modules/oxfmt/bin/oxfmt'
const OXLINT = 'node_modules/oxlint/bin/oxlint'

/** @type {readonly Check[]} in the order in which they start */
export const CHECKS = [
  {
    name: 'build',
    what: 'every package, through turbo',
    run: () =>
      runPnpm(['exec', 'turbo', 'run', 'build', '--concurrency=2', '--continue=dependencies-successful']),
  },
  {
    name: 'types',
    what: 'tsc over every tsconfig.json',
    run: () => runNode('scripts/check-types.mjs', []),
  },
  {
    name: 'format',
    what: 'oxfmt; `npm run format` mends it',
    run: () => runNode(OXFMT, ['--check']),
  },
  {
    name: 'lint',
    what: 'oxlint, with the rules of packages/tooling',
    run: () => runNode(OXLINT, ['--deny-warnings', ...codeFolders()]),
  },
  {
    name: 'structure',
    what: 'policy packages look alike; file sizes',
    run: async () =>
      report((await import('../../packages/tooling/src/checks/structure.js')).checkStructure(ROOT)),
  },
  {
    name: 'layering',
    what: 'imports between packages, and the order of builds',
    run: async () =>
      report((await import('../../packages/tooling/src/checks/layering.js')).checkLayering(ROOT)),
  },
  {
    name: 'changesets',
    what: 'configuration and pending change files',
    run: async () =>
      report((await import('../../packages/tooling/src/checks/changesets.js')).checkChangesets(ROOT)),
  },
  {
    name: 'knip',
    what: 'unused files, exports and dependencies',
    run: () => runNode('node_modules/knip/bin/knip.js', ['--no-progress', '--no-config-hints']),
  },
  {
    name: 'kernels',
    what: 'the unit tests of every policy take every branch of its kernel.ts',
    run: checkKernelCoverage,
  },
  {
    name: 'sherif',
    what: 'package.json files agree',
    run: () => runNode('node_modules/sherif/index.js', []),
  },
  {
    name: 'sdk-size',
    what: 'the built contract, minified and compressed',
    needs: 'build',
    run: async () => (await import('../../packages/tooling/src/checks/sdk-size.js')).checkSdkSize(ROOT),
  },
  {
    name: 'api',
    what: 'the API reports are current; `npm run api` renews them',
    needs: 'build',
    run: () => runNode('scripts/check-api.mjs', []),
  },
  {
    name: 'tarballs',
    what: 'publint and attw over what would be published',
    needs: 'build',
    run: checkTarballs,
  },
]

/** V8 sees no branch inside a WebAssembly kernel; those are held against kernel.ts bit for bit by the tests of their package. */
async function checkKernelCoverage() {
  const policies = readdirSync(join(ROOT, 'packages')).filter((name) => name.startsWith('policy-'))
  const folder = mkdtempSync(join(tmpdir(), 'router-kernels-'))
  try {
    const result = await runNode('node_modules/vitest/vitest.mjs', [
      'run',
      ...policies.map((name) => `packages/${name}/src`),
      '--typecheck=false',
      '--reporter=dot',
      '--coverage',
      '--coverage.include=packages/policy-*/src/kernel.ts',
      '--coverage.reporter=text',
      '--coverage.thresholds.branches=100',
      `--coverage.reportsDirectory=${folder}`,
    ])
    const branches = /^All files *\|[^|]*\| *([\d.]+)/mu.exec(result.output)?.[1]
    return { ...result, ok: result.ok && branches === '100', note: `branches ${branches ?? '?'} %` }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function checkTarballs() {
  const folder = mkdtempSync(join(tmpdir(), 'router-tarballs-'))
  try {
    const { isPublished, workspacePackages } = await import('../../packages/tooling/src/workspace.js')
    const published = workspacePackages(ROOT).filter(isPublished)
    const filters = published.map(({ manifest }) => `--filter=${manifest.name}`)
    const packed = await runPnpm([...filters, 'pack', '--pack-destination', folder])
    return packed.ok ? await runNode('scripts/check-tarballs.mjs', [folder]) : packed
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Folders of code that exist; named, because oxlint would otherwise walk everything. */
function codeFolders() {
  const folders = ['packages', 'apps', 'bench', 'docs', 'examples', 'scripts', 'vitest.config.ts']
  return folders.filter((folder) => existsSync(join(ROOT, folder)))
}

/** @param {string[]} problems */
function report(problems) {
  return { ok: problems.length === 0, output: problems.map((problem) => `${problem}\n`).join('') }
}
