import type { HashWords } from './hash-words.js'

/** Whether a hash stands in a run. */
export function includes(words: HashWords, start: number, count: number, low: number, high: number): boolean {
  for (let at = 2 * start; at < 2 * (start + count); at += 2) {
    if (words[at] === low && words[at + 1] === high) return true
  }
  return false
}
