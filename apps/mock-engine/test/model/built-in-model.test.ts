import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { builtInModel, modelFolderPath } from '../../src/model/built-in-model.js'
import { ByteTokenizer, rememberedWords } from '../../src/model/byte-tokenizer.js'
import { loadModelFolder } from '../../src/model/model-folder.js'
import { anyConversation, anyText, conversation } from './support/conversations.js'

const model = builtInModel()
const loaded = await loadModelFolder(modelFolderPath)
const scripts = fileURLToPath(new URL('../../scripts/', import.meta.url))

describe('the folder of the built-in model says what its code says', () => {
  it('of every token', () => {
    expect([loaded.vocabularySize, loaded.imageToken]).toEqual([model.vocabularySize, model.imageToken])
    for (let token = 0; token < model.vocabularySize; token++) {
      const one = Uint32Array.of(token)
      expect(loaded.decode(one)).toBe(model.decode(one))
    }
  })

  it('of any text', () => {
    fc.assert(
      fc.property(anyText, fc.boolean(), (text, addSpecialTokens) => {
        expect([...loaded.encode(text, addSpecialTokens)]).toEqual([...model.encode(text, addSpecialTokens)])
      }),
      { seed: 1, numRuns: 1000 },
    )
  })

  it('of any tokens', () => {
    const tokens = fc.array(fc.nat({ max: model.vocabularySize - 1 }), { maxLength: 20 })
    fc.assert(
      fc.property(fc.oneof(tokens, fc.array(fc.nat({ max: 255 }), { maxLength: 12 })), (list) => {
        expect(loaded.decode(Uint32Array.from(list))).toBe(model.decode(Uint32Array.from(list)))
      }),
      { seed: 2, numRuns: 1000 },
    )
  })

  it('of any conversation', () => {
    fc.assert(
      fc.property(anyConversation, (given) => {
        expect(loaded.render(given)).toBe(model.render(given))
      }),
      { seed: 3, numRuns: 600 },
    )
  })

  it('and its template is the one beside the script', () => {
    const configuration = JSON.parse(readFileSync(join(modelFolderPath, 'tokenizer_config.json'), 'utf8'))
    expect(configuration.chat_template).toBe(
      readFileSync(join(scripts, 'chat-template.jinja'), 'utf8').trimEnd(),
    )
  })
})

describe('the built-in tokenizer', () => {
  it('has tokens for any text, and gives the text back', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(model.decode(model.encode(text, false))).toBe(
          new TextDecoder('utf-8', { ignoreBOM: true }).decode(new TextEncoder().encode(text)),
        )
      }),
      { seed: 4, numRuns: 500 },
    )
  })

  it('has words as tokens', () => {
    expect([...model.encode('The router sends a request.', false)].length).toBeLessThan(9)
  })

  it('remembers only so many words, and is right about forgotten ones', () => {
    const tokenizer = new ByteTokenizer(
      JSON.parse(readFileSync(join(modelFolderPath, 'tokenizer.json'), 'utf8')),
    )
    const first = tokenizer.encode('word0')
    let most = 0
    for (let word = 0; word < rememberedWords; word++) {
      tokenizer.encode(`word ${word}`)
      most = Math.max(most, tokenizer.rememberedCount)
    }
    expect([most, tokenizer.rememberedCount]).toEqual([rememberedWords, 3])
    expect(tokenizer.encode('word0')).toEqual(first)
    const before = tokenizer.rememberedCount
    tokenizer.encode('y'.repeat(33))
    expect(tokenizer.rememberedCount).toBe(before)
  })

  it('knows no token beyond its vocabulary', () => {
    expect(model.decode(Uint32Array.of(model.vocabularySize, 2 ** 32 - 1))).toBe('')
    expect(loaded.decode(Uint32Array.of(model.vocabularySize, 2 ** 32 - 1))).toBe('')
  })

  it('is learned the same from the same texts', () => {
    const folder = mkdtempSync(join(tmpdir(), 'learned-'))
    try {
      const learn = (into: string): string => {
        const texts = ['learn-model.mjs', 'chat-template.jinja'].map((name) => join(scripts, name))
        execFileSync(process.execPath, [join(scripts, 'learn-model.mjs'), join(folder, into), '60', ...texts])
        return readFileSync(join(folder, into, 'tokenizer.json'), 'utf8')
      }
      const first = learn('a')
      expect(learn('b')).toBe(first)
      expect(JSON.parse(first).model.merges).toHaveLength(60)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe('a prompt of the built-in model', () => {
  it('has everything in its place', () => {
    const text = model.render(
      conversation(
        [
          { role: 'system', content: 'Be brief.' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What' },
              { type: 'image_url', image_url: 'http://x/y.png' },
              { type: 'text', text: 'is it?' },
            ],
          },
          {
            role: 'assistant',
            content: null,
            tool_calls: [
              { id: '1', type: 'function', function: { name: 'look', arguments: '{"at":[1,"é"]}' } },
            ],
          },
          { role: 'tool', tool_call_id: '1', content: 'A cat.' },
        ],
        {
          tools: [{ type: 'function', function: { name: 'look' } }],
          documents: [{ title: 'Cats' }],
          templateArguments: { enable_thinking: false },
        },
      ),
    )
    expect(text.split('\n')).toEqual([
      '<|im_start|>system',
      'Be brief.',
      '',
      'Functions:',
      '{"type": "function", "function": {"name": "look"}}',
      'Call one by <tool_call>, its name and arguments as JSON, and </tool_call>.',
      '',
      'Documents:',
      '{"title": "Cats"}<|im_end|>',
      '<|im_start|>user',
      '<|image|>',
      'What',
      'is it?<|im_end|>',
      '<|im_start|>assistant',
      '<tool_call>',
      '{"name": "look", "arguments": {"at": [1, "é"]}}',
      '</tool_call><|im_end|>',
      '<|im_start|>tool',
      'A cat.<|im_end|>',
      '<|im_start|>assistant',
      '<think>',
      '',
      '</think>',
      '',
      '',
    ])
  })
})
