import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ServedModel } from '../engine/serving.js'
import { ByteTokenizer, type ByteTokenizerFile } from './byte-tokenizer.js'
import { builtInImagePlaceholder, renderBuiltIn } from './render.js'

/** The folder of the built-in model in Hugging Face's form, so that a router can load the same tokenizer and chat template. */
export const modelFolderPath: string = fileURLToPath(
  // One folder up from the built package, two from its sources.
  ['../model/', '../../model/']
    .map((path) => new URL(path, import.meta.url))
    .find((url) => existsSync(new URL('tokenizer.json', url)))!,
)

/**
 * The model that a simulated engine has unless told otherwise: a small byte-level BPE and a ChatML-like template, in code of its own.
 * Reads its file each time.
 */
export function builtInModel(): ServedModel {
  const file = JSON.parse(readFileSync(`${modelFolderPath}/tokenizer.json`, 'utf8')) as ByteTokenizerFile
  const tokenizer = new ByteTokenizer(file)
  return {
    // Nothing is added to any text: the template has all the special tokens.
    encode: (text) => tokenizer.encode(text),
    decode: (tokens) => tokenizer.decode(tokens),
    render: renderBuiltIn,
    vocabularySize: tokenizer.vocabularySize,
    longestToken: tokenizer.longestToken,
    imageToken: tokenizer.encode(builtInImagePlaceholder)[0],
  }
}
