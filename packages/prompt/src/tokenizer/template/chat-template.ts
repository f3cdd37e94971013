import { PromptError } from '../../errors.js'
import { ChatInterpreter } from './chat-interpreter.js'
import { type ContentFormat, contentFormatOf } from './content-format.js'
import { Environment, type RuntimeValue, type Scope, parseTemplate } from './jinja-library.js'
import { strftime } from './python-text.js'
import {
  ArrayValue,
  FunctionValue,
  IntegerValue,
  type RuntimeFunction,
  StringValue,
  falseValue,
  integerValue,
  nullValue,
  runtimeValue,
  trueValue,
} from './runtime-values.js'
import type { SyntaxNode } from './syntax.js'

/** Numbers that `range` gives at most, as in Jinja's sandbox. */
const rangeLimit = 100_000

/** What rendering needs beside the variables. */
export interface RenderOptions {
  /** The text may have so many characters (UTF-16 units). */
  readonly maximumCharacters: number
  /** The clock of `strftime_now`. */
  readonly now: () => Date
}

/** A chat template, parsed once. */
export class ChatTemplate {
  /** How it wants the content of messages. */
  readonly contentFormat: ContentFormat
  readonly #program: SyntaxNode
  readonly #constants = new Map<SyntaxNode, RuntimeValue>()

  /** Throws `PROMPT_TEMPLATE_FAILED` where it cannot be parsed. */
  constructor(source: string) {
    try {
      // Marks for training, which print nothing: plain blocks here.
      const plain = source
        .replaceAll(/\{%([-+]?)\s*generation\s*([-+]?)%\}/g, '{%$1 if true $2%}')
        .replaceAll(/\{%([-+]?)\s*endgeneration\s*([-+]?)%\}/g, '{%$1 endif $2%}')
      this.#program = parseTemplate(plain)
      this.contentFormat = contentFormatOf(this.#program)
    } catch (error) {
      throw failure('the chat template cannot be parsed', error)
    }
  }

  /**
   * The text for these variables; those that are undefined stay undefined. Throws `PROMPT_TEMPLATE_FAILED` with what the template
   * raised, or where the text is too long. A template may run for ever: whoever calls must be able to stop it from outside.
   */
  render(variables: Readonly<Record<string, unknown>>, options: RenderOptions): string {
    try {
      const global = globalsOf(options.now)
      for (const [name, value] of Object.entries(variables))
        if (value !== undefined) global.variables.set(name, runtimeValue(value))
      return new ChatInterpreter(global, this.#constants, options.maximumCharacters).text(this.#program)
    } catch (error) {
      throw failure('the chat template failed', error)
    }
  }
}

function failure(what: string, error: unknown): PromptError {
  const reason = error instanceof Error ? error.message : String(error)
  return new PromptError('PROMPT_TEMPLATE_FAILED', `${what}: ${reason}`, { cause: error })
}

function globalsOf(now: () => Date): Scope {
  const global = new Environment()
  const define = (name: string, call: RuntimeFunction): void => {
    global.variables.set(name, new FunctionValue(call))
  }
  for (const name of ['true', 'True']) global.variables.set(name, trueValue)
  for (const name of ['false', 'False']) global.variables.set(name, falseValue)
  for (const name of ['none', 'None']) global.variables.set(name, nullValue)
  define('raise_exception', ([message]) => {
    throw new Error(message instanceof StringValue ? message.value : 'raise_exception')
  })
  define('strftime_now', ([format]) => {
    if (format instanceof StringValue) return new StringValue(strftime(now(), format.value))
    throw new TypeError('strftime_now: expected a format')
  })
  define('range', range)
  return global
}

function range(args: readonly RuntimeValue[]): RuntimeValue {
  const numbers = args.map((value) => (value instanceof IntegerValue ? value.value : Number.NaN))
  const [start, end] = numbers.length < 2 ? [0, numbers[0] ?? Number.NaN] : [numbers[0]!, numbers[1]!]
  const step = numbers[2] ?? 1
  const length = Math.max(0, Math.ceil((end - start) / step))
  if (!(length <= rangeLimit))
    throw new RangeError(`range(${numbers.join(', ')}): expected up to ${rangeLimit} whole numbers`)
  return new ArrayValue(Array.from({ length }, (_, index) => integerValue(start + index * step)))
}
