/** Words that a suggestion is looked for among. */
const maximumCandidates = 500

/**
 * The accepted word closest to a mistyped one, or `undefined` when none is near. Ignores case and surrounding spaces. What both begin with, up
 * to a `-`, `_` or `.`, makes them no nearer: all names of a program may have it.
 * @param maximum largest distance in changed letters; absent = a third of the longer word
 */
export function suggest(word: string, accepted: readonly string[], maximum = Infinity): string | undefined {
  const typed = word.trim().toLowerCase()
  let best: string | undefined
  let bestDistance = Infinity
  for (const candidate of accepted.slice(0, maximumCandidates)) {
    const wanted = candidate.toLowerCase()
    const longest = Math.max(typed.length, wanted.length)
    const own = longest - sharedWords(typed, wanted)
    const limit = Math.min(maximum, longest < 3 ? 0 : Math.max(1, Math.floor(own / 3)))
    if (Math.abs(typed.length - wanted.length) > limit) continue
    const distance = editDistance(typed, wanted)
    if (distance > limit || distance >= bestDistance) continue
    best = candidate
    bestDistance = distance
  }
  return best
}

/** Length of the whole words that two names begin with. */
function sharedWords(left: string, right: string): number {
  let length = 0
  for (let at = 0; at < left.length && left[at] === right[at]; at++)
    if ('-_.'.includes(left[at]!)) length = at + 1
  return length
}

/** Insertions, deletions, substitutions and swaps of neighbours that turn one text into the other. */
function editDistance(left: string, right: string): number {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const differs = left[row - 1] === right[column - 1] ? 0 : 1
      let distance = Math.min(
        previous[column]! + 1,
        current[column - 1]! + 1,
        previous[column - 1]! + differs,
      )
      const isSwap =
        row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]
      if (isSwap) distance = Math.min(distance, beforePrevious[column - 2]! + 1)
      current.push(distance)
    }
    beforePrevious = previous
    previous = current
  }
  return previous[right.length]!
}
