import { JsonFloat } from '../exact-json.js'
import { Environment, type RuntimeValue, type Scope } from './jinja-library.js'

/** A template's function: values in, a value out. */
export type RuntimeFunction = (args: readonly RuntimeValue[], scope: Scope) => RuntimeValue

interface ValueClass<Value> {
  new (value: Value): RuntimeValue & { readonly value: Value }
}

/** The template library names its values by class, but exports none: each is found by an example. */
function classOf<Value>(example: unknown): ValueClass<Value> {
  return new Environment().set('example', example).constructor as unknown as ValueClass<Value>
}

export const StringValue = classOf<string>('')
export const IntegerValue = classOf<number>(0)
export const FloatValue = classOf<number>(0.5)
export const BooleanValue = classOf<boolean>(true)
export const ArrayValue = classOf<RuntimeValue[]>([])
export const ObjectValue = classOf<Map<string, RuntimeValue>>({})
export const FunctionValue = classOf<RuntimeFunction>(() => 0)
export const NullValue = classOf<null>(null)
export const UndefinedValue = classOf<undefined>(undefined)

// Values never change, and making one is dear: these are shared.
export const trueValue = new BooleanValue(true)
export const falseValue = new BooleanValue(false)
export const nullValue = new NullValue(null)
export const undefinedValue = new UndefinedValue(undefined)

const smallIntegers = Array.from({ length: 1024 }, (_, value) => new IntegerValue(value))

// Texts that stand in every message.
const words = ['system', 'developer', 'user', 'assistant', 'tool', 'text', 'function']
const longestWord = 9
const knownTexts = new Map(words.map((word) => [word, new StringValue(word)]))

/** The value of a boolean. */
export function booleanValue(value: boolean): RuntimeValue {
  return value ? trueValue : falseValue
}

/** The value of a whole number; those from 0 to 1023 are shared. */
export function integerValue(value: number): RuntimeValue {
  return smallIntegers[value] ?? new IntegerValue(value)
}

/** The value of parsed JSON: plain or ordered objects, exact or plain numbers. Throws a `RangeError` where it is nested too deeply. */
export function runtimeValue(value: unknown): RuntimeValue {
  if (typeof value === 'string') {
    // To look up a long text would hash it.
    const known = value.length <= longestWord ? knownTexts.get(value) : undefined
    return known ?? new StringValue(value)
  }
  if (typeof value === 'boolean') return booleanValue(value)
  if (typeof value === 'number') return Number.isInteger(value) ? integerValue(value) : new FloatValue(value)
  // Beyond 2^53 a template may print it, but not reckon with it.
  if (typeof value === 'bigint') return new IntegerValue(value as unknown as number)
  if (value === null) return nullValue
  if (Array.isArray(value)) return new ArrayValue(value.map(runtimeValue))
  if (value instanceof JsonFloat) return new FloatValue(value.value)
  if (typeof value !== 'object') return undefinedValue
  const entries = value instanceof Map ? [...value.entries()] : Object.entries(value)
  return new ObjectValue(new Map(entries.map(([key, held]) => [String(key), runtimeValue(held)])))
}

/** Whether a condition holds of it, as in Python. */
export function isTruthy(value: RuntimeValue): boolean {
  return value instanceof BooleanValue ? value.value : value.__bool__().value
}
