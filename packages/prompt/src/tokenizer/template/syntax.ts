/** A node of a parsed template; which fields it has depends on its `type`. */
export interface SyntaxNode {
  readonly type: string
  readonly value: unknown
  readonly object: SyntaxNode
  readonly property: SyntaxNode
  readonly computed: boolean
  readonly callee: SyntaxNode
  readonly args: readonly SyntaxNode[]
  readonly operand: SyntaxNode
  readonly filter: SyntaxNode
  readonly test: SyntaxNode
  readonly negate: boolean
  readonly operator: { readonly value: string }
  readonly argument: SyntaxNode
  readonly left: SyntaxNode
  readonly right: SyntaxNode
  readonly lhs: SyntaxNode
  readonly loopvar: SyntaxNode
  readonly iterable: SyntaxNode
  readonly assignee: SyntaxNode
  readonly key: SyntaxNode
  readonly condition: SyntaxNode
  readonly trueExpr: SyntaxNode
  readonly falseExpr: SyntaxNode
  readonly body: readonly SyntaxNode[]
  readonly alternate: readonly SyntaxNode[]
  readonly defaultBlock: readonly SyntaxNode[]
}

/** The attribute or constant key that a member expression names, where it names one. */
export function memberName(node: SyntaxNode): string | undefined {
  const { property } = node
  if (node.computed ? property.type !== 'StringLiteral' : property.type !== 'Identifier') return undefined
  return property.value as string
}

/** Every node under a root, the root first. */
export function* nodesOf(root: unknown): Generator<SyntaxNode> {
  if (typeof root !== 'object' || root === null) return
  if (Array.isArray(root) || root instanceof Map) {
    for (const item of root.values()) yield* nodesOf(item)
    if (root instanceof Map) for (const key of root.keys()) yield* nodesOf(key)
    return
  }
  if (typeof (root as SyntaxNode).type === 'string') yield root as SyntaxNode
  for (const field of Object.values(root)) yield* nodesOf(field)
}
