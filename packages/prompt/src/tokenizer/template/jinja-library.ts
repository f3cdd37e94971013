import * as jinja from '@huggingface/jinja'
import type { SyntaxNode } from './syntax.js'

// The library's own declarations do not resolve in ES modules (their imports lack extensions): what is used of it stands here.

/** A value inside a template. */
export interface RuntimeValue {
  readonly type: string
  readonly value: unknown
  /** Methods and properties of this kind of value. */
  readonly builtins: ReadonlyMap<string, RuntimeValue>
  __bool__(): { readonly value: boolean }
  toString(): string
}

/** Variables by name, inside those of another scope. */
export interface Scope {
  variables: Map<string, RuntimeValue>
  parent: Scope | undefined
  tests: ReadonlyMap<string, (...operands: readonly RuntimeValue[]) => boolean>
  set(name: string, value: unknown): RuntimeValue
}

interface LibraryInterpreter {
  readonly global: Scope
  evaluate(node: SyntaxNode | undefined, scope: Scope): RuntimeValue
}

interface Library {
  readonly Environment: { new (): Scope; readonly prototype: Scope }
  readonly Interpreter: new (global: Scope) => LibraryInterpreter
  readonly tokenize: (source: string, options: { lstrip_blocks: boolean; trim_blocks: boolean }) => unknown
  readonly parse: (tokens: unknown) => SyntaxNode
}

const library = jinja as unknown as Library

export const { Environment, Interpreter } = library

/** The parsed template, white space handled as engines configure Jinja. Throws what the library finds wrong. */
export function parseTemplate(source: string): SyntaxNode {
  return library.parse(library.tokenize(source, { lstrip_blocks: true, trim_blocks: true }))
}
