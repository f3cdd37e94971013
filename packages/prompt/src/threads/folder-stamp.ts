import { stat } from 'node:fs/promises'
import { join } from 'node:path'

const files = [
  'tokenizer.json',
  'tokenizer_config.json',
  'chat_template.jinja',
  'chat_template.json',
  'special_tokens_map.json',
]

/** Tells the files of a tokenizer apart from earlier ones, by sizes and times; of a missing folder too. Never rejects. */
export async function folderStamp(folder: string): Promise<string> {
  const stamps = await Promise.all(
    files.map(async (file) => {
      const found = await stat(join(folder, file)).catch(() => undefined)
      return found === undefined ? '-' : `${found.size}@${found.mtimeMs}`
    }),
  )
  return stamps.join(' ')
}
