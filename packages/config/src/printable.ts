/** Control characters, and those that turn the direction of a text around. */
const unprintable = /[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu
const shortEscapes: Readonly<Record<string, string>> = {
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\f': '\\f',
  '\r': '\\r',
}

/** A text with every control character as JSON escapes it: safe to show on a terminal, and on one line. */
export function printable(text: string): string {
  return text.replaceAll(
    unprintable,
    (character) =>
      shortEscapes[character] ?? `\\u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`,
  )
}

/** As `printable`, and keeps the line breaks. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}
