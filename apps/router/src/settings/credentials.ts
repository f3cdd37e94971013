import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ServeSettingReader } from './serve-setting-reader.js'
import { serveSettings } from './serve-setting-table.js'

const longestFile = 1_048_576

/** The admin token and the keys of clients: from files, else from variables. Faults go to the reader; no message has a secret in it. */
export function readCredentials(
  reader: ServeSettingReader,
  folder: string,
): { readonly adminToken: string | undefined; readonly apiKeys: readonly string[] } {
  const { adminTokenFile, adminToken, apiKeyFile, apiKeys } = serveSettings
  const tokens = linesOf(reader, adminTokenFile, folder)
  if (tokens !== undefined && tokens.length !== 1)
    reader.refuse(adminTokenFile, `the file has ${tokens.length} tokens`, 'a file with one token')
  const keys = linesOf(reader, apiKeyFile, folder)
  if (keys?.length === 0) reader.refuse(apiKeyFile, 'the file has no keys', 'a file with a key a line')
  const token = reader.read<string | undefined>(adminToken)
  const listed = reader.read<readonly string[] | undefined>(apiKeys)
  return { adminToken: tokens?.[0] ?? token, apiKeys: keys ?? listed ?? [] }
}

/** Lines that are neither blank nor begin with `#`, without spaces around them. */
function linesOf(
  reader: ServeSettingReader,
  setting: (typeof serveSettings)['adminTokenFile'],
  folder: string,
): string[] | undefined {
  const path = reader.read<string | undefined>(setting)
  if (path === undefined) return undefined
  try {
    const text = readFileSync(resolve(folder, path), 'utf8')
    if (text.length > longestFile) throw new Error('it is too large')
    const lines = text.split(/\r?\n/).map((line) => line.trim())
    return lines.filter((line) => line !== '' && !line.startsWith('#'))
  } catch (error) {
    reader.refuse(setting, `cannot read the file: ${(error as Error).message}`, 'the path of a readable file')
    return undefined
  }
}
