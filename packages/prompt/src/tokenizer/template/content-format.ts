import { type SyntaxNode, memberName, nodesOf } from './syntax.js'

/** How a template wants the content of messages: as one text, or as a list of parts. */
export type ContentFormat = 'string' | 'openai'

/**
 * The format that vLLM finds in a template: `openai` when it loops over the content of the items of `messages`, else `string`.
 * Variables are followed by name, without regard to scope. `O(nodes)` for each name that stands for the messages.
 */
export function contentFormatOf(program: unknown): ContentFormat {
  const nodes = [...nodesOf(program)]
  const loops = nodes.filter(({ type }) => type === 'For')
  const messageLists = namesFor('messages', nodes)
  const messages = loops
    .filter((loop) => messageLists.some((name) => reads(iterableOf(loop), name)))
    .map((loop) => loop.loopvar.value as string)
  const isOverContent = (loop: SyntaxNode): boolean =>
    messages.some((name) => reads(iterableOf(loop), name, 'content'))
  return loops.some(isOverContent) ? 'openai' : 'string'
}

function iterableOf(loop: SyntaxNode): SyntaxNode {
  return loop.iterable.type === 'SelectExpression' ? loop.iterable.lhs : loop.iterable
}

/** The name, and every one that is set to it or to a part of it. */
function namesFor(name: string, nodes: readonly SyntaxNode[]): string[] {
  const names = [name]
  for (let index = 0; index < names.length; index++) {
    for (const { type, assignee, value } of nodes) {
      if (type !== 'Set' || assignee.type !== 'Identifier' || !isNode(value)) continue
      const alias = assignee.value as string
      if (!names.includes(alias) && reads(value, names[index]!)) names.push(alias)
    }
  }
  return names
}

/** Whether an expression is the variable (or this key of it), bare, filtered, tested or sliced. */
function reads(node: SyntaxNode, name: string, key?: string): boolean {
  if (node.type === 'FilterExpression' || node.type === 'TestExpression')
    return reads(node.operand, name, key)
  if (node.type === 'MemberExpression') {
    if (node.property.type === 'SliceExpression') return reads(node.object, name, key)
    return key !== undefined && memberName(node) === key && reads(node.object, name)
  }
  return key === undefined && node.type === 'Identifier' && node.value === name
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null
}
