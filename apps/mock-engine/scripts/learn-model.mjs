// Learns the built-in tokenizer: a byte-level BPE of Hugging Face's form, from texts of this repository, the same for the same texts.
//   node scripts/learn-model.mjs <folder to write> <merges> <text file>...
// The shipped one was learned once: its tokens are what caches and recorded events are made of. From apps/mock-engine, in bash:
//   shopt -s globstar; node scripts/learn-model.mjs model 3000 ../../*.md ../../docs/**/*.md ../../packages/*/README.md
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder, mergeText, ...files] = process.argv.slice(2)
const mergeCount = Number(mergeText)
if (folder === undefined || !Number.isInteger(mergeCount) || files.length === 0) {
  console.error('usage: node scripts/learn-model.mjs <folder to write> <merges> <text file>...')
  process.exit(2)
}

const specialTokens = ['<|endoftext|>', '<|im_start|>', '<|im_end|>', '<|image|>']
const words = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu

/** GPT-2's printable stand-in for each byte, in the order of its vocabulary. */
function byteCharacters() {
  const printable = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
  const bytes = Array.from({ length: 256 }, (_, byte) => byte)
  const pairs = bytes.filter(printable).map((byte) => [byte, String.fromCodePoint(byte)])
  bytes
    .filter((byte) => !printable(byte))
    .forEach((byte, index) => pairs.push([byte, String.fromCodePoint(256 + index)]))
  return new Map(pairs)
}

const characters = byteCharacters()
/** @type {Map<string, number>} how often each word stands in the texts */
const counts = new Map()
for (const file of [...files].sort())
  for (const [word] of readFileSync(file, 'utf8').matchAll(words))
    counts.set(word, (counts.get(word) ?? 0) + 1)
const corpus = [...counts].map(([word, count]) => ({
  count,
  parts: [...Buffer.from(word)].map((byte) => characters.get(byte)),
}))

const merges = []
while (merges.length < mergeCount) {
  const best = mostFrequentPair()
  if (best === undefined) break
  const [left, right] = best
  merges.push(best)
  for (const { parts } of corpus)
    for (let index = 0; index + 1 < parts.length; index++)
      if (parts[index] === left && parts[index + 1] === right) parts.splice(index, 2, left + right)
}

/** The pair that stands most often, the first by its characters among equals; absent = none stands twice. */
function mostFrequentPair() {
  const pairs = new Map()
  for (const { count, parts } of corpus)
    for (let index = 0; index + 1 < parts.length; index++) {
      const key = `${parts[index]} ${parts[index + 1]}`
      pairs.set(key, (pairs.get(key) ?? 0) + count)
    }
  let best
  let most = 1
  for (const [key, count] of pairs)
    if (count > most || (count === most && best !== undefined && key < best)) {
      best = key
      most = count
    }
  return best?.split(' ')
}

const tokens = [...characters.values(), ...new Set(merges.map(([left, right]) => left + right))]
const tokenizer = {
  version: '1.0',
  truncation: null,
  padding: null,
  added_tokens: specialTokens.map((content, index) => ({
    id: tokens.length + index,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  })),
  normalizer: null,
  pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
  post_processor: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: false, use_regex: true },
  decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
  model: {
    type: 'BPE',
    dropout: null,
    unk_token: null,
    continuing_subword_prefix: '',
    end_of_word_suffix: '',
    fuse_unk: false,
    byte_fallback: false,
    vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
    merges: merges.map((pair) => pair.join(' ')),
  },
}
const configuration = {
  tokenizer_class: 'PreTrainedTokenizerFast',
  bos_token: null,
  eos_token: '<|im_end|>',
  pad_token: '<|endoftext|>',
  unk_token: null,
  image_token: '<|image|>',
  additional_special_tokens: ['<|im_start|>', '<|im_end|>', '<|image|>'],
  add_prefix_space: false,
  clean_up_tokenization_spaces: false,
  model_max_length: 32768,
  chat_template: readFileSync(new URL('chat-template.jinja', import.meta.url), 'utf8').trimEnd(),
}

mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer, null, 1) + '\n')
writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(configuration, null, 2) + '\n')
