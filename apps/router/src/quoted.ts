/** A text of a caller, as long as a message may hold it. @param longest characters that are shown */
export function cut(text: string, longest = 100): string {
  return text.length > longest ? `${text.slice(0, longest)}...` : text
}

/** The same in quotes. */
export function quoted(text: string): string {
  return `'${cut(text)}'`
}
