import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { declarePackageConstants, packageDefines, packageIdentity } from '../src/package-constants.js'
import { temporaryFolder } from './support/files.js'

test('a file belongs to the nearest package.json with a name', () => {
  const folder = temporaryFolder({
    'package.json': '{ "name": "outer", "version": "1.0.0" }',
    'inner/package.json': '{ "name": "inner", "version": "2.1.0" }',
    'inner/src/package.json': '{ "type": "module" }',
    'other/a.ts': '',
  })
  expect(packageIdentity(join(folder, 'inner/src'))).toEqual({ name: 'inner', version: '2.1.0' })
  expect(packageIdentity(join(folder, 'other'))).toEqual({ name: 'outer', version: '1.0.0' })
})

test('a changed version is seen', () => {
  const folder = mkdtempSync(join(tmpdir(), 'router-tooling-'))
  writeFileSync(join(folder, 'package.json'), '{ "name": "a", "version": "1.0.0" }')
  expect(packageIdentity(folder).version).toBe('1.0.0')
  rmSync(join(folder, 'package.json'))
  writeFileSync(join(folder, 'package.json'), '{ "name": "a", "version": "1.0.1" }')
  expect(packageIdentity(folder).version).toBe('1.0.1')
  rmSync(folder, { recursive: true })
})

test('defines are literals', () => {
  expect(packageDefines({ name: '@router/a', version: '1.0.0' })).toEqual({
    __PACKAGE_NAME__: '"@router/a"',
    __PACKAGE_VERSION__: '"1.0.0"',
  })
})

test('constants are declared where they are mentioned, and no line moves', () => {
  const folder = temporaryFolder({ 'package.json': '{ "name": "a", "version": "1.0.0" }' })
  const file = join(folder, 'a.ts')
  const declarations = 'const __PACKAGE_NAME__ = "a";const __PACKAGE_VERSION__ = "1.0.0";'
  const mention = ['export', 'const', 'v', '=', `__PACKAGE_${'VERSION__'}`].join(' ')
  expect(declarePackageConstants('export {}', file)).toBe('export {}')
  expect(declarePackageConstants(`${mention}_X`, file)).toBe(`${mention}_X`)
  expect(declarePackageConstants(mention, file)).toBe(declarations + mention)
  expect(declarePackageConstants(`#!/usr/bin/env node\n${mention}`, file)).toBe(
    `#!/usr/bin/env node\n${declarations}${mention}`,
  )
})

test('this run of sources declares them for the package of the file', () => {
  expect(__PACKAGE_NAME__).toBe('@router/tooling')
  expect(__PACKAGE_VERSION__).toMatch(/^\d+\.\d+\.\d+$/)
})
