import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseExactJson } from '../../src/tokenizer/exact-json.js'
import { ChatTemplate } from '../../src/tokenizer/template/chat-template.js'
import { codeOf } from './support/small-tokenizer.js'

interface JinjaCase {
  readonly name: string
  readonly template: string
  /** JSON, as text, so that its numbers stay as they are. */
  readonly variables?: string
  readonly text?: string
  readonly raises?: boolean
}

const cases = JSON.parse(readFileSync(new URL('fixtures/jinja.json', import.meta.url), 'utf8')) as JinjaCase[]

function render(template: string, variables = '{}', maximumCharacters = 1000): string {
  const values = parseExactJson(variables) as Record<string, unknown>
  const now = (): Date => new Date(2026, 0, 5, 9, 7, 3)
  return new ChatTemplate(template).render(values, { maximumCharacters, now })
}

describe('a template gives what Jinja in Python gives', () => {
  it.each(cases)('$name', ({ template, variables, text, raises }) => {
    if (raises === true) expect(codeOf(() => render(template, variables))).toBe('PROMPT_TEMPLATE_FAILED')
    else expect(render(template, variables)).toBe(text)
  })

  it('marks of what a model is trained on are no more than blocks', () => {
    const template = '{% for x in [1, 2] %}{%- generation %}{{ x }}{% endgeneration -%} {% endfor %}'
    expect(render(template)).toBe('12')
  })
})

describe('what the library of templates does not know is refused, not guessed', () => {
  it.each([
    "{{ '%s' % 'a' }}",
    "{{ '{}'.format(1) }}",
    "{{ 'ab' * 2 }}",
    '{{ 2.5 | round }}',
    '{{ [1] | select | list }}',
    "{{ [{'a': 1}] | join(',', attribute='a') }}",
    '{{ dict(a=1) }}',
    '{% raw %}{{ x }}{% endraw %}',
    '{{ 1 is sameas 1 }}',
    '{{ 1 | no_such_filter }}',
    '{{ 1 is no_such_test }}',
    "{% include 'other' %}",
  ])('%s', (template) => {
    expect(codeOf(() => render(template))).toBe('PROMPT_TEMPLATE_FAILED')
  })
})

function failureOf(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    return (error as Error).message
  }
  return 'nothing was thrown'
}

describe('the end of a template that is too much', () => {
  it('text beyond the maximum, of one piece and of many', () => {
    expect(render('{{ a }}', JSON.stringify({ a: 'x'.repeat(1000) }))).toHaveLength(1000)
    expect(codeOf(() => render('{{ a }}', JSON.stringify({ a: 'x'.repeat(1001) })))).toBe(
      'PROMPT_TEMPLATE_FAILED',
    )
    const endless = '{% for i in range(100000) %}{% for j in range(100000) %}xxxx{% endfor %}{% endfor %}'
    expect(codeOf(() => render(endless))).toBe('PROMPT_TEMPLATE_FAILED')
  })

  it('text that doubles until no text can be so long', () => {
    const doubled =
      '{% set ns = namespace(x="ab") %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}'
    expect(codeOf(() => render(doubled))).toBe('PROMPT_TEMPLATE_FAILED')
  })

  it('a text that doubles unseen, within the maximum and beyond it', () => {
    const of = (times: number): string =>
      `{% set ns = namespace(x="ab", y="") %}{% for i in range(${times}) %}{% set ns.x = ns.x + ns.x %}{% set ns.y = ns.x ~ "" %}{% endfor %}`
    expect(render(of(8))).toBe('')
    expect(codeOf(() => render(of(9)))).toBe('PROMPT_TEMPLATE_FAILED')
  })

  it('a list that doubles, long before a thread has no memory for it', () => {
    const of = (times: number): string =>
      `{% set ns = namespace(x=[1]) %}{% for i in range(${times}) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x | length }}`
    expect(render(of(21))).toBe(String(2 ** 21))
    expect(codeOf(() => render(of(22)))).toBe('PROMPT_TEMPLATE_FAILED')
  })

  it('JSON of a little that is nested deeply, written out with its white space', () => {
    const deep = `{"a": ${'['.repeat(800)}${'1,'.repeat(200_000)}1${']'.repeat(800)}}`
    expect(render('{{ a | tojson }}', deep, 1e6)).toHaveLength(2 * 800 + 3 * 200_000 + 1)
    // Would be more than a text can be.
    expect(failureOf(() => render('{{ a | tojson(indent=4) }}', deep, 1e6))).toContain('1000000 characters')
  })

  it('a macro that calls itself', () => {
    expect(codeOf(() => render('{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}'))).toBe(
      'PROMPT_TEMPLATE_FAILED',
    )
  })

  it('a template that cannot be parsed', () => {
    expect(codeOf(() => new ChatTemplate('{% if %}{{'))).toBe('PROMPT_TEMPLATE_FAILED')
  })
})

describe('how a template wants content', () => {
  it.each([
    ['string', '{% for message in messages %}{{ message.content }}{% endfor %}'],
    ['openai', '{% for m in messages %}{% for part in m.content %}{{ part.text }}{% endfor %}{% endfor %}'],
    [
      'openai',
      "{% for m in messages %}{% for part in m['content'] | list %}{{ part }}{% endfor %}{% endfor %}",
    ],
    [
      'openai',
      '{% set l = messages[1:] %}{% for m in l %}{% for p in m.content if p %}{{ p }}{% endfor %}{% endfor %}',
    ],
    [
      'openai',
      '{% set a = messages %}{% set b = a | list %}{% for m in b %}{% for p in m.content %}{% endfor %}{% endfor %}',
    ],
    ['string', '{% for m in messages %}{% for t in m.tool_calls %}{{ t }}{% endfor %}{% endfor %}'],
    ['string', '{% for m in others %}{% for p in m.content %}{{ p }}{% endfor %}{% endfor %}'],
    ['string', "{% set messages = messages %}{{ messages[0]['content'] }}"],
  ])('%s: %s', (format, template) => {
    expect(new ChatTemplate(template).contentFormat).toBe(format)
  })
})
