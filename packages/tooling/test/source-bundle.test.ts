import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { bundleSources } from '../src/source-bundle.js'
import { type Files, temporaryFolder } from './support/files.js'

const FILES: Files = {
  'apps/a/package.json': '{ "name": "app", "version": "3.0.0", "type": "module" }',
  'apps/a/data.json': '{ "answer": 42 }',
  'apps/a/src/start.ts':
    "#!/usr/bin/env node\nimport { readFileSync } from 'node:fs'\nimport outside from 'outside'\nimport { b } from 'b'\n" +
    "const data: unknown = JSON.parse(readFileSync(new URL('../data.json', import.meta.url), 'utf8'))\n" +
    'console.log(JSON.stringify({ data, outside, b, version: __PACKAGE_VERSION__, url: import.meta.url }))\n',
  'apps/a/node_modules/outside/package.json':
    '{ "name": "outside", "type": "module", "exports": "./index.js" }',
  'apps/a/node_modules/outside/index.js': 'export default import.meta.url',
  'packages/b/package.json':
    '{ "name": "b", "version": "1.2.0", "type": "module", "exports": { "router-source": "./src/index.ts", "default": "./dist/index.js" } }',
  'packages/b/src/index.ts': "export { b } from './b.js'\n",
  'packages/b/src/b.ts':
    'export const b = { version: __PACKAGE_VERSION__ as string, file: import.meta.filename, folder: import.meta.dirname }\n',
}

test('sources run from their workspace without a build', async () => {
  const root = temporaryFolder(FILES)
  mkdirSync(join(root, 'apps/a/node_modules'), { recursive: true })
  symlinkSync(join(root, 'packages/b'), join(root, 'apps/a/node_modules/b'))
  const outfile = join(root, 'node_modules/.cache/start.mjs')
  await bundleSources({ entry: join(root, 'apps/a/src/start.ts'), outfile })
  const { data, outside, b, version, url } = JSON.parse(
    execFileSync(process.execPath, [outfile], { encoding: 'utf8' }),
  )
  expect(data).toEqual({ answer: 42 })
  expect(outside).toBe(pathToFileURL(join(root, 'apps/a/node_modules/outside/index.js')).href)
  expect(version).toBe('3.0.0')
  expect(url).toBe(pathToFileURL(join(root, 'apps/a/src/start.ts')).href)
  expect(b).toEqual({
    version: '1.2.0',
    file: join(root, 'packages/b/src/b.ts'),
    folder: join(root, 'packages/b/src'),
  })
})

test('a module that a source names by a URL is bundled beside it', async () => {
  const root = temporaryFolder({
    'app/package.json': '{ "name": "app", "type": "module" }',
    'app/src/start.ts':
      "import { Worker } from 'node:worker_threads'\n" +
      "new Worker(new URL('./threads/worker.js', import.meta.url)).on('message', (message: unknown) => console.log(message))\n" +
      "console.log(new URL('./no-source.js', import.meta.url).href)\n",
    'app/src/threads/worker.ts':
      "import { parentPort } from 'node:worker_threads'\nimport { answer } from '../answer.js'\n" +
      'parentPort?.postMessage(`${answer as number} of ${import.meta.filename}`)\n',
    'app/src/answer.ts': 'export const answer: number = 42\n',
  })
  const outfile = join(root, 'out/start.mjs')
  await bundleSources({ entry: join(root, 'app/src/start.ts'), outfile })
  const lines = execFileSync(process.execPath, [outfile], { encoding: 'utf8' }).trim().split('\n')
  expect(lines).toEqual([
    pathToFileURL(join(root, 'app/src/no-source.js')).href,
    `42 of ${join(root, 'app/src/threads/worker.ts')}`,
  ])
})
