// The only file of this package that touches the file system and loads code.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join, resolve as resolvePath } from 'node:path'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { CatalogError, ConfigError } from '@router/sdk'
import { resolve } from 'import-meta-resolve'

/** A path as seen from a folder; absent = the working directory. */
export function locatePath(path: string, folder = ''): string {
  return resolvePath(folder, path)
}

/** Absolute folder of a file; without one `folder`, or the working directory. */
export function folderOf(path: string | undefined, folder = ''): string {
  return path === undefined ? resolvePath(folder) : dirname(resolvePath(folder, path))
}

/** Text of a file; errors name its absolute path. Errors: `ROUTER_CONFIG_READ`; `ROUTER_CONFIG_PARSE` at the first byte that is no UTF-8. */
export async function readTextFile(relativePath: string): Promise<string> {
  const path = resolvePath(relativePath)
  let bytes: Uint8Array
  try {
    bytes = await readFile(path)
  } catch (cause) {
    const message = `cannot read the file: ${cause instanceof Error ? cause.message : String(cause)}`
    const issue = { code: 'ROUTER_CONFIG_READ', message, path: [], file: path, value: path } as const
    throw new ConfigError(issue.code, `${path}: ${message}`, [issue], { cause })
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    const before = new TextDecoder('utf-8').decode(bytes).split('\uFFFD')[0]!.split('\n')
    const place = { line: before.length, column: before.at(-1)!.length + 1 }
    const issue = {
      code: 'ROUTER_CONFIG_PARSE',
      message: 'the file is not UTF-8 text',
      path: [],
      file: path,
      ...place,
    } as const
    throw new ConfigError(issue.code, `${path}:${place.line}:${place.column}: ${issue.message}`, [issue], {
      cause,
    })
  }
}

const stalled = new Error('the process has nothing left to do')

/** Waits for a promise; rejects with `stalled` when the process would end because nothing can settle it any more. */
async function whileAlive<T>(promise: Promise<T>): Promise<T> {
  let onIdle: (() => void) | undefined
  const idle = new Promise<never>((_resolve, reject) => {
    onIdle = () => reject(stalled)
    process.once('beforeExit', onIdle)
  })
  try {
    return await Promise.race([promise, idle])
  } finally {
    process.off('beforeExit', onIdle!)
  }
}

/** A module of a policy package, and where it was found. */
export interface ImportedPackage {
  readonly specifier: string
  /** URL of the file. */
  readonly url: string
  readonly exports: Readonly<Record<string, unknown>>
}

/**
 * Imports a package as a module in `folder` would. Runs its code.
 * Errors: `ROUTER_POLICY_PACKAGE_NOT_FOUND`, `ROUTER_POLICY_PACKAGE_LOAD_FAILED` (cause kept).
 */
export async function importPackage(specifier: string, folder: string): Promise<ImportedPackage> {
  const url = locatePackage(specifier, folder)
  try {
    const exports = await whileAlive(import(/* @vite-ignore */ url) as Promise<Record<string, unknown>>)
    return { specifier, url, exports }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const message =
      cause === stalled
        ? `package '${specifier}' did not finish loading: a top-level await in it never settles`
        : `package '${specifier}' cannot be loaded: ${reason}`
    throw new CatalogError('ROUTER_POLICY_PACKAGE_LOAD_FAILED', message, { specifier, url }, { cause })
  }
}

function locatePackage(specifier: string, folder: string): string {
  const details = { specifier, folder }
  let url: string
  try {
    url = resolve(specifier, pathToFileURL(join(folder, 'router-policy.yaml')).href)
  } catch (cause) {
    const reason = cause instanceof Error ? `: ${cause.message.split('\n')[0]}` : ''
    const message = `package '${specifier}' is not found from ${folder}${reason}`
    throw new CatalogError('ROUTER_POLICY_PACKAGE_NOT_FOUND', message, details, { cause })
  }
  if (url.startsWith('file:') && existsSync(fileURLToPath(url))) return url
  const message = `package '${specifier}' is not found from ${folder}: there is no module ${url}`
  throw new CatalogError('ROUTER_POLICY_PACKAGE_NOT_FOUND', message, details)
}
