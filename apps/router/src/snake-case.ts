/** A name as JSON, metrics and configuration have it: `maxNumSeqs` is `max_num_seqs`. */
export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
