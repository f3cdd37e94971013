/** How far an output may go, and where it ends. Tokens are counts. */
export interface OutputLimits {
  readonly maxTokens: number
  readonly minTokens: number
  readonly stop: readonly string[]
  readonly stopTokenIds: readonly number[]
  readonly includesStop: boolean
}

/** What one choice will say, token by token. */
export interface Plan {
  readonly tokens: Uint32Array
  /** The text that becomes visible with each token. */
  readonly pieces: readonly string[]
  readonly finishReason: 'stop' | 'length'
  /** The stop string or the stop token that ended it. */
  readonly stopReason: string | number | null
}

/** No output at all: a prompt that is only read. */
export const emptyPlan: Plan = {
  tokens: new Uint32Array(),
  pieces: [],
  finishReason: 'stop',
  stopReason: null,
}

/**
 * Cuts what a model would say to its limits. `tokens` is what it says, `pieces` its text token by token, `endsItself` whether there is an
 * end after the last of them. O(text x stop strings).
 */
export function planOutput(
  tokens: Uint32Array,
  pieces: readonly string[],
  endsItself: boolean,
  limits: OutputLimits,
): Plan {
  const stop = firstStop(tokens, pieces, limits)
  if (stop !== undefined)
    return {
      tokens: tokens.subarray(0, stop.tokens),
      pieces: cutPieces(pieces.slice(0, stop.tokens), stop.characters),
      finishReason: 'stop',
      stopReason: stop.reason,
    }
  const fits = endsItself && tokens.length < limits.maxTokens
  return {
    tokens: tokens.subarray(0, limits.maxTokens),
    pieces: pieces.slice(0, limits.maxTokens),
    finishReason: fits ? 'stop' : 'length',
    stopReason: null,
  }
}

interface Stop {
  /** Generated, the one that stops among them. */
  readonly tokens: number
  /** That the client sees. */
  readonly characters: number
  readonly reason: string | number
}

function firstStop(tokens: Uint32Array, pieces: readonly string[], limits: OutputLimits): Stop | undefined {
  const { stop, stopTokenIds, includesStop, minTokens } = limits
  const strings = stop.filter((text) => text !== '')
  if (strings.length === 0 && stopTokenIds.length === 0) return undefined
  const longest = strings.reduce((most, text) => Math.max(most, text.length), 0)
  const count = Math.min(tokens.length, limits.maxTokens)
  let text = ''
  for (let index = 0; index < count; index++) {
    const before = text.length
    text += pieces[index]!
    if (index < minTokens) continue
    const id = tokens[index]!
    if (stopTokenIds.includes(id))
      return { tokens: index + 1, characters: includesStop ? text.length : before, reason: id }
    const from = Math.max(0, before - longest + 1)
    for (const reason of strings) {
      const at = text.indexOf(reason, from)
      if (at >= 0) return { tokens: index + 1, characters: includesStop ? at + reason.length : at, reason }
    }
  }
  return undefined
}

function cutPieces(pieces: readonly string[], characters: number): string[] {
  let left = characters
  return pieces.map((piece) => {
    const kept = piece.slice(0, left)
    left -= kept.length
    return kept
  })
}
