import { stat } from 'node:fs/promises'
import { readTextFile } from '@router/config'
import { ConfigError } from '@router/sdk'

/** Bytes; 65,536 workers with all their keys have less. */
const largestFile = 64 * 1024 * 1024

/**
 * Text of a file that is read again and again. Error: `ConfigError` where it cannot be read, is larger than 64 MiB, or is no file, as pipes
 * and devices are, whose reading might never end.
 */
export async function readWatchedFile(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined)
  // What is not there, or is a folder, fails by itself, in the system's words.
  const isEndless = found !== undefined && !found.isFile() && !found.isDirectory()
  if (!isEndless && (found?.size ?? 0) <= largestFile) return readTextFile(path)
  const what = isEndless ? 'it is no file, but a pipe or a device' : `it has ${found!.size} bytes`
  const message = `cannot read the file: ${what}; accepted: a file of up to ${largestFile} bytes, which is read again and again`
  const issue = { code: 'ROUTER_CONFIG_READ', message, path: [], file: path, value: path } as const
  throw new ConfigError(issue.code, `${path}: ${message}`, [issue])
}
