import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Template } from '@huggingface/jinja'
import { Tokenizer } from '@huggingface/tokenizers'
import type { Conversation, ServedModel } from '../engine/serving.js'
import { MockEngineError } from '../errors.js'
import { type TemplateMessage, refuse, templateMessages } from './messages.js'
import { checkContinuation } from './render.js'

type Fields = Readonly<Record<string, unknown>>

/**
 * A model from a local Hugging Face folder: `tokenizer.json`, `tokenizer_config.json`, and the chat template in the latter or in
 * `chat_template.jinja`. Prompts are rendered and tokenised as a whole. It sees images if its configuration names an `image_token`.
 * Throws `MOCK_ENGINE_MODEL_INVALID`.
 */
export async function loadModelFolder(folder: string): Promise<ServedModel> {
  const tokenizerFile = await readJson(folder, 'tokenizer.json')
  const configuration = await readJson(folder, 'tokenizer_config.json')
  const tokenizer = parsed(folder, 'tokenizer.json', () => new Tokenizer(tokenizerFile, configuration))
  const templateText = await templateOf(folder, configuration)
  const template =
    templateText === undefined
      ? undefined
      : parsed(folder, 'the chat template', () => new Template(templateText))
  const imageText = contentOf(configuration['image_token'])
  const imageToken = imageText === undefined ? undefined : tokenizer.token_to_id(imageText)
  let vocabularySize = 0
  let longestToken = 0
  for (const [token, id] of tokenizer.get_vocab()) {
    vocabularySize = Math.max(vocabularySize, id + 1)
    // A vocabulary with gaps has entries without a text.
    longestToken = Math.max(longestToken, (token as string | undefined)?.length ?? 0)
  }
  const specialTokens = specialTokensOf(configuration)

  const renderWith = (
    messages: readonly TemplateMessage[],
    { tools, documents, ...conversation }: Conversation,
  ) => {
    if (template === undefined)
      return refuse('messages', messages, 'a prompt: the model has no chat template')
    try {
      return template.render({
        ...specialTokens,
        ...conversation.templateArguments,
        messages,
        // Templates ask for `tools is not none`: an empty list is none, too.
        tools: tools?.length ? tools : null,
        documents: documents?.length ? documents : null,
        add_generation_prompt: conversation.addGenerationPrompt,
      })
    } catch (error) {
      throw new MockEngineError(
        'MOCK_ENGINE_CONVERSATION_INVALID',
        `the chat template refuses: ${(error as Error).message}`,
        { cause: error },
      )
    }
  }

  return {
    encode: (text, addSpecialTokens) =>
      Uint32Array.from(tokenizer.encode(text, { add_special_tokens: addSpecialTokens }).ids),
    decode: (tokens) => {
      const known = Array.from(tokens).filter((token) => tokenizer.id_to_token(token) !== undefined)
      return known.length === 0 ? '' : tokenizer.decode(known, { clean_up_tokenization_spaces: false })
    },
    render: (conversation) => {
      const messages = templateMessages(
        conversation.messages,
        imageToken === undefined ? undefined : imageText,
      )
      checkContinuation(messages, conversation)
      if (!conversation.continueFinalMessage) return renderWith(messages, conversation)
      // As transformers does: a mark behind the final message tells where it ends, whatever the template puts around it.
      const last = messages.at(-1)!
      const marked = [...messages.slice(0, -1), { ...last, content: last.content + continuationMark }]
      const text = renderWith(marked, conversation)
      const at = text.lastIndexOf(continuationMark.trim())
      if (at < 0)
        return refuse('continue_final_message', true, 'false: the chat template leaves out the final message')
      return text.startsWith(continuationMark, at) ? text.slice(0, at) : text.slice(0, at).trimEnd()
    },
    vocabularySize,
    longestToken,
    imageToken,
  }
}

const continuationMark = 'CONTINUE_FINAL_MESSAGE_HERE '

async function templateOf(folder: string, configuration: Fields): Promise<string | undefined> {
  const file = await readFile(join(folder, 'chat_template.jinja'), 'utf8').catch(() => undefined)
  const template = file ?? configuration['chat_template']
  if (template === undefined || template === null) return undefined
  // Several named templates: the default one.
  const chosen = Array.isArray(template)
    ? (template as Fields[]).find(({ name }) => name === 'default')?.['template']
    : template
  if (typeof chosen === 'string') return chosen
  throw invalid(
    folder,
    'tokenizer_config.json: chat_template is neither a text nor a list with a default one',
  )
}

/** What templates know by name, such as `bos_token`. */
function specialTokensOf(configuration: Fields): Record<string, string> {
  return Object.fromEntries(
    Object.entries(configuration).flatMap(([key, value]) => {
      const content = key.endsWith('_token') ? contentOf(value) : undefined
      return content === undefined ? [] : [[key, content]]
    }),
  )
}

/** Text of a token that is written as text or as an object. */
function contentOf(token: unknown): string | undefined {
  const content = typeof token === 'object' && token !== null ? (token as Fields)['content'] : token
  return typeof content === 'string' ? content : undefined
}

async function readJson(folder: string, name: string): Promise<Fields> {
  let text
  try {
    text = await readFile(join(folder, name), 'utf8')
  } catch (error) {
    throw invalid(folder, `${name} cannot be read: ${(error as Error).message}`, error)
  }
  const value = parsed(folder, name, () => JSON.parse(text) as unknown)
  if (typeof value === 'object' && value !== null) return value as Fields
  throw invalid(folder, `${name} is no JSON object`)
}

function parsed<Value>(folder: string, what: string, parse: () => Value): Value {
  try {
    return parse()
  } catch (error) {
    throw invalid(folder, `${what} cannot be used: ${(error as Error).message}`, error)
  }
}

function invalid(folder: string, why: string, cause?: unknown): MockEngineError {
  return new MockEngineError('MOCK_ENGINE_MODEL_INVALID', `model folder ${folder}: ${why}`, { cause })
}
