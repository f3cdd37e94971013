import { ConfigError, type ConfigIssue, type RouterErrorCode } from '@router/sdk'
import { printable, printableLines } from './printable.js'
import type { SourcePosition, YamlSource } from './yaml-source.js'

/** Issues that a check collects at most; what is wrong a thousand times is wrong in one place. */
export const maximumIssues = 1000

/** Issues that a message shows. */
const shownIssues = 20

/** Keys and list positions from the root of the document. */
export type ConfigPath = readonly (string | number)[]

/** What a check knows of a fault, before its place in the file is looked up. */
export interface Fault {
  readonly code?: RouterErrorCode
  readonly path: ConfigPath
  /** Whether the fault is the key itself (unknown, repeated) or what stands there. */
  readonly at?: 'key' | 'value'
  readonly message: string
  readonly value?: unknown
  readonly accepted?: string | undefined
  readonly suggestion?: string | undefined
}

/** Adds file, line and column; faults outside the file (flags, environment) have no `source`. */
export function toIssue(fault: Fault, source?: YamlSource, position?: SourcePosition): ConfigIssue {
  const place =
    source === undefined ? undefined : (position ?? source.locate(fault.path, fault.at ?? 'value'))
  return {
    code: fault.code ?? 'ROUTER_CONFIG_INVALID',
    message: fault.message,
    path: fault.path,
    ...(source !== undefined && { file: source.file }),
    ...(place !== undefined && { line: place.line, column: place.column }),
    ...('value' in fault && { value: fault.value }),
    ...(fault.accepted !== undefined && { accepted: fault.accepted }),
    ...(fault.suggestion !== undefined && { suggestion: fault.suggestion }),
  }
}

/**
 * Throws a `ConfigError` when there are issues: the first `maximumIssues` of them, sorted by their place in the file; `code`
 * defaults to the first one's.
 */
export function throwIssues(issues: readonly ConfigIssue[], code?: RouterErrorCode, cause?: unknown): void {
  if (issues.length === 0) return
  const sorted = issues
    .slice(0, maximumIssues)
    .sort((left, right) => (left.line ?? 0) - (right.line ?? 0) || (left.column ?? 0) - (right.column ?? 0))
  const options = cause === undefined ? undefined : { cause }
  throw new ConfigError(code ?? sorted[0]!.code, formatIssues(sorted), sorted, options)
}

/**
 * One block of lines per issue: `file:line:column: message`, then what is accepted and the nearest accepted word. Shows the
 * first 20. Control characters are escaped.
 */
export function formatIssues(issues: readonly ConfigIssue[]): string {
  const blocks = issues.slice(0, shownIssues).map(formatIssue)
  const rest = issues.length - blocks.length
  if (rest > 0) blocks.push(`and ${issues.length < maximumIssues ? '' : 'at least '}${rest} more`)
  return printableLines(blocks.join('\n'))
}

function formatIssue({ file, line, column, message, accepted, suggestion }: ConfigIssue): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(':')
  return [
    place === '' ? message : `${place}: ${message}`,
    ...(accepted === undefined ? [] : [`  accepted: ${accepted}`]),
    ...(suggestion === undefined ? [] : [`  did you mean '${suggestion}'?`]),
  ].join('\n')
}

/** `worker_selection.instances[0].name`; the empty path is the file itself. */
export function showPath(path: ConfigPath): string {
  if (path.length === 0) return 'the file'
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    const key = shorten(part)
    return text === '' ? key : `${text}.${key}`
  }, '')
}

/** A short text of any value: texts in quotes, mappings and lists by kind. */
export function showValue(value: unknown): string {
  if (typeof value === 'string') return `'${shorten(value)}'`
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'a mapping'
  return String(value)
}

/** A text as a message may hold it: printable, and at most 80 characters of it. */
function shorten(text: string): string {
  return printable(text.length > 80 ? `${text.slice(0, 77)}...` : text)
}

/** Names with commas between them; of many the first 100. */
export function showList(names: readonly string[]): string {
  const shown = names.slice(0, 100).join(', ')
  return names.length > 100 ? `${shown} and ${names.length - 100} more` : shown
}
