import { Interpreter, type RuntimeValue, type Scope } from './jinja-library.js'
import {
  assign,
  attribute,
  innerScope,
  invoke,
  isEqual,
  itemsOf,
  joinedLists,
  lookUp,
  reckon,
  setLoopFacts,
  stringMethod,
  textOf,
} from './operations.js'
import { type JsonStyle, capitalized, printed, pythonJson, strip, titled } from './python-text.js'
import {
  ArrayValue,
  BooleanValue,
  IntegerValue,
  ObjectValue,
  StringValue,
  UndefinedValue,
  booleanValue,
  integerValue,
  isTruthy,
  nullValue,
  undefinedValue,
} from './runtime-values.js'
import { type SyntaxNode, memberName } from './syntax.js'

const silent = new Set(['Set', 'Macro', 'Comment'])

/**
 * The interpreter of the template library with the common nodes done anew, for two reasons. Where it differs from Jinja in Python,
 * which engines run, this one does as Python: characters given to `strip`, white space, `tojson` of numbers, what printing a boolean,
 * `None`, a list or an object gives, a loop over something undefined, scopes of loops, equality of different types. And making a
 * value costs the library 0.2 us, most of the time of a long conversation: here constants and small values are shared. All other nodes
 * are the library's.
 */
export class ChatInterpreter extends Interpreter {
  readonly #constants: Map<SyntaxNode, RuntimeValue>
  readonly #maximumCharacters: number
  // What ends the body of a loop early, until the loop has seen it.
  #ending: 'Break' | 'Continue' | undefined

  /** `constants` are the values of the template's literals, kept by the caller from one run to the next. */
  constructor(global: Scope, constants: Map<SyntaxNode, RuntimeValue>, maximumCharacters: number) {
    super(global)
    this.#constants = constants
    this.#maximumCharacters = maximumCharacters
  }

  /** The text of a whole template. Throws what the template raises, and a `RangeError` beyond the maximum of characters. */
  text(program: SyntaxNode): string {
    return this.#print(program.body, this.global)
  }

  override evaluate(statement: SyntaxNode | undefined, scope: Scope): RuntimeValue {
    switch (statement?.type) {
      case 'StringLiteral':
        return this.#constant(statement, () => new StringValue(statement.value as string))
      case 'IntegerLiteral':
        return integerValue(statement.value as number)
      case 'Identifier':
        return lookUp(scope, statement.value as string)
      case 'MemberExpression':
        return this.#member(statement, scope)
      case 'CallExpression':
        return this.#call(statement, scope)
      case 'BinaryExpression':
        return this.#binary(statement, scope)
      case 'UnaryExpression':
        if (statement.operator.value !== 'not') break
        return booleanValue(!isTruthy(this.evaluate(statement.argument, scope)))
      case 'TestExpression':
        return this.#test(statement, scope)
      case 'FilterExpression':
        return this.#filter(statement, scope)
      case 'Ternary':
        return this.evaluate(
          isTruthy(this.evaluate(statement.condition, scope)) ? statement.trueExpr : statement.falseExpr,
          scope,
        )
      case 'Set':
        if (statement.assignee.type !== 'Identifier' || statement.value === null) break
        scope.variables.set(
          statement.assignee.value as string,
          this.evaluate(statement.value as SyntaxNode, scope),
        )
        return nullValue
      case 'If':
      case 'For':
        return new StringValue(this.#print([statement], scope))
      default:
    }
    return super.evaluate(statement, scope)
  }

  #print(statements: readonly SyntaxNode[], scope: Scope): string {
    let text = ''
    for (const statement of statements) {
      if (statement.type === 'Break' || statement.type === 'Continue') this.#ending = statement.type
      else if (statement.type === 'If') {
        const isMet = isTruthy(this.evaluate(statement.test, scope))
        text += this.#print(isMet ? statement.body : statement.alternate, scope)
      } else if (statement.type === 'For') text += this.#loop(statement, scope)
      else {
        const value = this.evaluate(statement, scope)
        if (!silent.has(statement.type)) text += printed(value)
      }
      this.#checkLength(text)
      if (this.#ending !== undefined) break
    }
    return text
  }

  #loop(node: SyntaxNode, outer: Scope): string {
    const isFiltered = node.iterable.type === 'SelectExpression'
    const all = itemsOf(this.evaluate(isFiltered ? node.iterable.lhs : node.iterable, outer))
    const scopeOf = (item: RuntimeValue): Scope => {
      const scope = innerScope(outer)
      assign(node.loopvar, item, scope)
      return scope
    }
    const items = isFiltered
      ? all.filter((item) => isTruthy(this.evaluate(node.iterable.test, scopeOf(item))))
      : all
    let text = ''
    // As in Jinja, a turn that is cut short is none.
    let hasTurn = false
    // One object that changes from turn to turn, as Jinja's.
    const facts = new Map<string, RuntimeValue>()
    const loop = new ObjectValue(facts)
    for (const [index, item] of items.entries()) {
      const scope = scopeOf(item)
      setLoopFacts(facts, items, index)
      scope.variables.set('loop', loop)
      text += this.#print(node.body, scope)
      this.#checkLength(text)
      const ending = this.#ending
      this.#ending = undefined
      if (ending === 'Break') break
      if (ending === undefined) hasTurn = true
    }
    return hasTurn ? text : text + this.#print(node.defaultBlock, outer)
  }

  #textOf(text: string): RuntimeValue {
    this.#checkLength(text)
    return new StringValue(text)
  }

  #checkLength({ length }: string): void {
    const most = this.#maximumCharacters
    if (length > most) throw new RangeError(`it gives more than ${most} characters`)
  }

  #constant(node: SyntaxNode, make: () => RuntimeValue): RuntimeValue {
    let value = this.#constants.get(node)
    if (value === undefined) {
      value = make()
      this.#constants.set(node, value)
    }
    return value
  }

  #member(node: SyntaxNode, scope: Scope): RuntimeValue {
    const name = memberName(node)
    if (name !== undefined) return attribute(this.evaluate(node.object, scope), name, node.computed)
    if (node.property.type === 'SliceExpression') return super.evaluate(node, scope)
    const object = this.evaluate(node.object, scope)
    const key = this.evaluate(node.property, scope)
    if (key instanceof StringValue) return attribute(object, key.value, true)
    if (!(key instanceof IntegerValue))
      throw new TypeError(`a key is ${key.type}: expected a text or a number`)
    if (object instanceof ArrayValue) return object.value.at(key.value) ?? undefinedValue
    if (object instanceof StringValue) {
      const character = [...object.value].at(key.value)
      return character === undefined ? undefinedValue : new StringValue(character)
    }
    if (object instanceof UndefinedValue) throw new TypeError(`item ${key.value} of something undefined`)
    return undefinedValue
  }

  #call(node: SyntaxNode, scope: Scope): RuntimeValue {
    if (!node.args.every(isPositional)) return super.evaluate(node, scope)
    const { callee } = node
    if (callee.type === 'MemberExpression') {
      const name = memberName(callee)
      const object = this.evaluate(callee.object, scope)
      const args = node.args.map((argument) => this.evaluate(argument, scope))
      if (name !== undefined && object instanceof StringValue) {
        const value = stringMethod(object, name, args)
        if (value !== undefined) return value
      }
      const method =
        name === undefined ? this.#member(callee, scope) : attribute(object, name, callee.computed)
      return invoke(method, args, scope)
    }
    const called = this.evaluate(callee, scope)
    return invoke(
      called,
      node.args.map((argument) => this.evaluate(argument, scope)),
      scope,
    )
  }

  #binary(node: SyntaxNode, scope: Scope): RuntimeValue {
    const operator = node.operator.value
    const left = this.evaluate(node.left, scope)
    if (operator === 'and') return isTruthy(left) ? this.evaluate(node.right, scope) : left
    if (operator === 'or') return isTruthy(left) ? left : this.evaluate(node.right, scope)
    const right = this.evaluate(node.right, scope)
    if (operator === '==') return booleanValue(isEqual(left, right))
    if (operator === '!=') return booleanValue(!isEqual(left, right))
    if (operator === '~') return this.#textOf(printed(left) + printed(right))
    if (left instanceof StringValue && right instanceof StringValue) {
      if (operator === '+') return this.#textOf(left.value + right.value)
      if (operator === 'in') return booleanValue(right.value.includes(left.value))
      if (operator === 'not in') return booleanValue(!right.value.includes(left.value))
    }
    if (operator === '+' && (left instanceof StringValue || right instanceof StringValue))
      throw new TypeError(`${left.type} + ${right.type}: a text and something else cannot be joined`)
    if (operator === '+' && left instanceof ArrayValue && right instanceof ArrayValue)
      return joinedLists(left.value, right.value)
    if (left instanceof IntegerValue && right instanceof IntegerValue) {
      const value = reckon(operator, left.value, right.value)
      if (value !== undefined) return value
    }
    // Operands have no effects, so they may be read again.
    return super.evaluate(node, scope)
  }

  #test(node: SyntaxNode, scope: Scope): RuntimeValue {
    const operand = this.evaluate(node.operand, scope)
    const name = node.test.value as string
    const test = scope.tests.get(name)
    if (test === undefined) throw new Error(`unknown test ${name}`)
    // An object can be gone through, and Python counts with booleans.
    const isSo =
      (name === 'iterable' && operand instanceof ObjectValue) ||
      (name === 'number' && operand instanceof BooleanValue) ||
      test(operand)
    return booleanValue(isSo !== node.negate)
  }

  #filter(node: SyntaxNode, scope: Scope): RuntimeValue {
    const { filter } = node
    const args = filter.type === 'CallExpression' ? filter.args : []
    const name = (filter.type === 'CallExpression' ? filter.callee.value : filter.value) as string
    if (name === 'tojson') {
      const style = this.#jsonStyle(args, scope)
      return new StringValue(pythonJson(this.evaluate(node.operand, scope), style))
    }
    if (name === 'trim' && args.every(isPositional)) {
      const characters = args[0] === undefined ? undefined : this.evaluate(args[0], scope)
      const text = printed(this.evaluate(node.operand, scope))
      return new StringValue(strip(text, 'strip', textOf(characters)))
    }
    if (name === 'length' && args.length === 0) {
      const operand = this.evaluate(node.operand, scope)
      if (operand instanceof ArrayValue) return integerValue(operand.value.length)
      if (operand instanceof StringValue) return integerValue([...operand.value].length)
      if (operand instanceof UndefinedValue) return integerValue(0)
    }
    if (name === 'string' && args.length === 0)
      return new StringValue(printed(this.evaluate(node.operand, scope)))
    if (name === 'join') {
      if (args.length > 1 || !args.every(isPositional))
        throw new TypeError('join: expected nothing but what stands between the items')
      const separator = args[0] === undefined ? '' : printed(this.evaluate(args[0], scope))
      return new StringValue(itemsOf(this.evaluate(node.operand, scope)).map(printed).join(separator))
    }
    if ((name === 'title' || name === 'capitalize') && args.length === 0)
      return new StringValue(
        (name === 'title' ? titled : capitalized)(printed(this.evaluate(node.operand, scope))),
      )
    return super.evaluate(node, scope)
  }

  #jsonStyle(args: readonly SyntaxNode[], scope: Scope): JsonStyle {
    const names = ['ensure_ascii', 'indent', 'separators', 'sort_keys']
    const given = new Map<string, RuntimeValue>()
    for (const [index, argument] of args.entries()) {
      if (isPositional(argument)) given.set(names[index] ?? '', this.evaluate(argument, scope))
      else given.set(String(argument.key?.value), this.evaluate(argument.value as SyntaxNode, scope))
    }
    const [indent, separators] = [given.get('indent'), given.get('separators')]
    const parts = separators instanceof ArrayValue ? separators.value.map(textOf) : []
    return {
      indent: indent instanceof IntegerValue ? indent.value : undefined,
      ensuresAscii: isTruthy(given.get('ensure_ascii') ?? nullValue),
      sortsKeys: isTruthy(given.get('sort_keys') ?? nullValue),
      separators: parts.length === 2 ? [parts[0] ?? ', ', parts[1] ?? ': '] : undefined,
      maximumCharacters: this.#maximumCharacters,
    }
  }
}

function isPositional({ type }: SyntaxNode): boolean {
  return (
    type !== 'KeywordArgumentExpression' && type !== 'KeywordSpreadExpression' && type !== 'SpreadExpression'
  )
}
