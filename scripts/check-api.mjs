import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor'
import { workspacePackages } from '../packages/tooling/src/workspace.js'
import { ROOT } from './lib/root.mjs'

// Compares the API report of every package that has an api-extractor.json with its built declarations. `--update`
// writes the report instead.

const update = process.argv.includes('--update')
for (const { folder, path } of workspacePackages(ROOT)) {
  const configuration = join(path, 'api-extractor.json')
  if (!existsSync(configuration)) continue
  if (update) mkdirSync(join(path, 'etc'), { recursive: true })
  const { succeeded, apiReportChanged } = Extractor.invoke(
    ExtractorConfig.loadFileAndPrepare(configuration),
    {
      localBuild: update,
      messageCallback(message) {
        message.handled = ['console-compiler-version-notice', 'console-preamble'].includes(message.messageId)
      },
    },
  )
  if (apiReportChanged) {
    process.stdout.write(
      `${folder}: the API report ${update ? 'is renewed' : 'is not current; npm run api'}\n`,
    )
  }
  if (!succeeded) process.exitCode = 1
}
