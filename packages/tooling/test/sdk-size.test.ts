import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { checkSdkSize } from '../src/checks/sdk-size.js'
import { temporaryFolder } from './support/files.js'

test('the contract stays below 12 kB, zod not counted', async () => {
  const code = (bytes: number) =>
    `export { z } from 'zod'\nexport const x = '${randomBytes(bytes).toString('base64')}'\n`
  const sizeOf = (bytes: number) =>
    checkSdkSize(temporaryFolder({ 'packages/sdk/dist/index.js': code(bytes) }))
  expect(await sizeOf(8_000)).toMatchObject({ ok: true, note: expect.stringMatching(/^8\.\d kB of 12 kB$/) })
  expect(await sizeOf(12_500)).toMatchObject({ ok: false, output: expect.stringContaining('of 12 kB') })
})
