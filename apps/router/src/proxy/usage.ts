/** What an engine counted for a request. Absent = it did not say. */
export interface TokenUsage {
  readonly promptTokens?: number | undefined
  /** Of them, found in its cache. */
  readonly cachedTokens?: number | undefined
  readonly completionTokens?: number | undefined
}

/** A usage object is small; more is none. */
const largestUsage = 4096
const openBrace = 0x7b
const closeBrace = 0x7d

/** The last `usage` in JSON or in an event of a stream, of the OpenAI and the Anthropic API alike; `undefined` = none. */
export function usageIn(bytes: Buffer): TokenUsage | undefined {
  const key = bytes.lastIndexOf('"usage":')
  if (key < 0) return undefined
  const start = bytes.indexOf(openBrace, key)
  const limit = Math.min(bytes.length, start + largestUsage)
  let depth = 0
  for (let at = start; at >= 0 && at < limit; at++) {
    if (bytes[at] === openBrace) depth++
    else if (bytes[at] === closeBrace && --depth === 0) return parsed(bytes.toString('utf8', start, at + 1))
  }
  return undefined
}

/** What a later report adds to an earlier one. */
export function mergeUsage(
  earlier: TokenUsage | undefined,
  later: TokenUsage | undefined,
): TokenUsage | undefined {
  if (earlier === undefined || later === undefined) return later ?? earlier
  return {
    promptTokens: later.promptTokens ?? earlier.promptTokens,
    cachedTokens: later.cachedTokens ?? earlier.cachedTokens,
    completionTokens: later.completionTokens ?? earlier.completionTokens,
  }
}

function parsed(text: string): TokenUsage | undefined {
  let usage: Record<string, unknown>
  try {
    usage = JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
  const details = (usage['prompt_tokens_details'] ?? usage['input_tokens_details']) as
    | Record<string, unknown>
    | null
    | undefined
  const read = countOf(usage['cache_read_input_tokens'])
  const input = countOf(usage['input_tokens'])
  return {
    // The Anthropic API leaves out of its input what was read from the cache.
    promptTokens: countOf(usage['prompt_tokens']) ?? (input === undefined ? undefined : input + (read ?? 0)),
    cachedTokens: countOf(details?.['cached_tokens']) ?? read,
    completionTokens: countOf(usage['completion_tokens']) ?? countOf(usage['output_tokens']),
  }
}

function countOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined
}
