import { Environment, type RuntimeValue, type Scope } from './jinja-library.js'
import { capitalized, strip } from './python-text.js'
import {
  ArrayValue,
  BooleanValue,
  FunctionValue,
  NullValue,
  ObjectValue,
  StringValue,
  UndefinedValue,
  booleanValue,
  integerValue,
  undefinedValue,
} from './runtime-values.js'
import type { SyntaxNode } from './syntax.js'

const mostItems = 2 ** 21

// As an attribute these are the methods, as a key they are what the object holds.
const objectMethods = new Set(['get', 'items', 'keys', 'values'])

/** The variable of that name in the nearest scope that has it. */
export function lookUp(scope: Scope, name: string): RuntimeValue {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) {
    const value = at.variables.get(name)
    if (value !== undefined) return value
  }
  return undefinedValue
}

/** A scope inside another one, without what the library puts into each. */
export function innerScope(outer: Scope): Scope {
  const scope = Object.create(Environment.prototype) as Scope
  scope.variables = new Map()
  scope.parent = outer
  scope.tests = outer.tests
  return scope
}

/** An attribute of an object, or what it holds under a key. Throws for one of something undefined. */
export function attribute(object: RuntimeValue, name: string, isKey: boolean): RuntimeValue {
  const isMethod = !isKey && object instanceof ObjectValue && objectMethods.has(name)
  if (object.value instanceof Map && !isMethod) {
    const held = object.value.get(name)
    if (held !== undefined) return held
  }
  if (object instanceof UndefinedValue) throw new TypeError(`'${name}' of something undefined`)
  // The library makes all methods at once, which is dear for a key that most messages lack.
  if (object instanceof ObjectValue && !objectMethods.has(name)) return undefinedValue
  return object.builtins.get(name) ?? undefinedValue
}

/** A list and what follows it. Throws a `RangeError` for more items than a body may have values: one that grows without end. */
export function joinedLists(left: readonly RuntimeValue[], right: readonly RuntimeValue[]): RuntimeValue {
  const length = left.length + right.length
  // Checked before: a thread that asks for more memory than it may have in one piece takes the process with it.
  if (length > mostItems) throw new RangeError(`a list of ${length} items: expected up to ${mostItems}`)
  return new ArrayValue(left.concat(right))
}

/** Calls a value. Throws where it is no function. */
export function invoke(called: RuntimeValue, args: RuntimeValue[], scope: Scope): RuntimeValue {
  if (called instanceof FunctionValue) return called.value(args, scope)
  throw new TypeError(`${called.type} was called: it is no function`)
}

/** The methods of texts that conversations use; undefined = the library's. */
export function stringMethod(
  { value }: { readonly value: string },
  name: string,
  args: readonly RuntimeValue[],
): RuntimeValue | undefined {
  const [first] = args
  if (name === 'strip' || name === 'lstrip' || name === 'rstrip') {
    if (first !== undefined && !(first instanceof StringValue) && !(first instanceof NullValue))
      throw new TypeError(`${name} of ${first.type}: expected characters`)
    return new StringValue(strip(value, name, textOf(first)))
  }
  if (name === 'capitalize') return new StringValue(capitalized(value))
  if (name === 'title') return new StringValue(value.replaceAll(/\p{L}+/gu, capitalized))
  if (args.length !== 1 || !(first instanceof StringValue)) return undefined
  if (name === 'startswith') return booleanValue(value.startsWith(first.value))
  if (name === 'endswith') return booleanValue(value.endsWith(first.value))
  if (name !== 'split' || first.value === '') return undefined
  return new ArrayValue(value.split(first.value).map((part) => new StringValue(part)))
}

/** The text that a value is, where it is one. */
export function textOf(value: RuntimeValue | undefined): string | undefined {
  return value instanceof StringValue ? value.value : undefined
}

/** As in Python: values of different types differ, but for numbers and booleans; lists and objects are compared item by item. */
export function isEqual(left: RuntimeValue, right: RuntimeValue): boolean {
  if (left instanceof ArrayValue && right instanceof ArrayValue) {
    const others = right.value
    return left.value.length === others.length && left.value.every((item, at) => isEqual(item, others[at]!))
  }
  if (left instanceof ObjectValue && right instanceof ObjectValue) {
    const others = right.value
    const isHeld = ([key, value]: [string, RuntimeValue]): boolean =>
      others.has(key) && isEqual(value, others.get(key)!)
    return left.value.size === others.size && [...left.value].every(isHeld)
  }
  return numberOf(left) === numberOf(right)
}

function numberOf(value: RuntimeValue): unknown {
  return value instanceof BooleanValue ? Number(value.value) : value.value
}

/** What a loop goes through: items, keys, characters; nothing where it is undefined. Throws for anything else. */
export function itemsOf(value: RuntimeValue): readonly RuntimeValue[] {
  if (value instanceof ArrayValue) return value.value
  if (value instanceof UndefinedValue) return []
  if (value instanceof ObjectValue) return [...value.value.keys()].map((key) => new StringValue(key))
  if (value instanceof StringValue) return [...value.value].map((character) => new StringValue(character))
  throw new TypeError(`a loop over ${value.type}: expected a list, an object or a text`)
}

/** Sets the name, or the names, of a loop. */
export function assign(target: SyntaxNode, item: RuntimeValue, scope: Scope): void {
  if (target.type === 'Identifier') {
    scope.variables.set(target.value as string, item)
    return
  }
  const names = target.value as readonly SyntaxNode[]
  const parts = itemsOf(item)
  if (parts.length !== names.length)
    throw new TypeError(`${parts.length} values for ${names.length} names of a loop`)
  for (const [index, name] of names.entries()) assign(name, parts[index]!, scope)
}

/** What `loop` says in one turn. */
export function setLoopFacts(
  facts: Map<string, RuntimeValue>,
  items: readonly RuntimeValue[],
  index: number,
): void {
  const { length } = items
  facts.set('index', integerValue(index + 1))
  facts.set('index0', integerValue(index))
  facts.set('revindex', integerValue(length - index))
  facts.set('revindex0', integerValue(length - index - 1))
  facts.set('first', booleanValue(index === 0))
  facts.set('last', booleanValue(index === length - 1))
  facts.set('length', integerValue(length))
  facts.set('previtem', items[index - 1] ?? undefinedValue)
  facts.set('nextitem', items[index + 1] ?? undefinedValue)
}

/** Whole numbers that a template reckons with; undefined = the library's. */
export function reckon(operator: string, left: number, right: number): RuntimeValue | undefined {
  if (operator === '+') return integerValue(left + right)
  if (operator === '-') return integerValue(left - right)
  if (operator === '<') return booleanValue(left < right)
  if (operator === '>') return booleanValue(left > right)
  if (operator === '<=') return booleanValue(left <= right)
  if (operator === '>=') return booleanValue(left >= right)
  // Python's remainder has the sign of the divisor.
  return operator === '%' && right !== 0 ? integerValue(((left % right) + right) % right) : undefined
}
