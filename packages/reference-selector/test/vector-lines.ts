import { readFileSync } from 'node:fs'

/** Lines of one carried vector file. */
export function vectorLines<T>(name: string): T[] {
  const file = new URL(`../../vectors/data/${name}.jsonl`, import.meta.url)
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as T)
}
