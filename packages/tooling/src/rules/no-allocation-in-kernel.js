/** Methods of arrays and typed arrays that allocate or call back; `fill`, `set` and `copyWithin` do neither. */
const ARRAY_METHODS = new Set(
  (
    'concat entries every filter find findIndex findLast findLastIndex flat flatMap forEach from join keys map of pop ' +
    'push reduce reduceRight reverse shift slice some sort splice subarray toReversed toSorted toSpliced unshift values ' +
    'with'
  ).split(' '),
)

/** Globals whose calls allocate, called themselves or through one of their methods. */
const ALLOCATING = new Set(['Array', 'BigInt', 'Object', 'String', 'Symbol', 'JSON', 'structuredClone'])

/** @type {Record<string, string>} */
const FORBIDDEN = {
  NewExpression: '`new`',
  ObjectExpression: 'an object literal',
  ArrayExpression: 'an array literal',
  ArrayPattern: 'an array pattern',
  SpreadElement: 'a spread',
  RestElement: 'a rest element',
  ForOfStatement: '`for...of`',
  ForInStatement: '`for...in`',
  TemplateLiteral: 'a template literal',
  ThrowStatement: '`throw`',
  ClassExpression: 'a class',
  ClassDeclaration: 'a class',
}

const FUNCTIONS = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']

/**
 * Keeps the loops of a kernel free of everything that allocates, calls back or throws. Statements outside of functions
 * run once and are not looked at.
 */
export const noAllocationInKernel = {
  meta: { type: 'problem', docs: { description: 'Disallow allocation, callbacks and throw inside kernels' } },
  /** @param {any} context */
  create(context) {
    let depth = 0
    /**
     * @param {any} node
     * @param {string} what
     */
    const report = (node, what) => {
      if (depth > 0) context.report({ node, message: `A kernel must not use ${what}.` })
    }
    /** @type {Record<string, (node: any) => void>} */
    const visitor = {
      Literal(node) {
        if (node.parent?.type === 'TSLiteralType') return
        if (node.bigint !== undefined && node.bigint !== null) report(node, 'a BigInt literal')
        if (node.regex !== undefined && node.regex !== null) report(node, 'a regular expression')
      },
      CallExpression(node) {
        const name = calledName(node.callee)
        if (name !== undefined) report(node, name)
      },
    }
    for (const [type, what] of Object.entries(FORBIDDEN)) {
      visitor[type] = (node) => {
        if (type !== 'TemplateLiteral' || node.parent?.type !== 'TSLiteralType') report(node, what)
      }
    }
    for (const type of FUNCTIONS) {
      visitor[type] = (node) => {
        report(node, 'a function inside a function')
        depth++
        if (node.async || node.generator) report(node, 'an async function or a generator')
      }
      visitor[`${type}:exit`] = () => {
        depth--
      }
    }
    return visitor
  },
}

/**
 * @param {any} callee
 * @returns {string | undefined} how to name a call that is not allowed
 */
function calledName(callee) {
  if (callee.type === 'Identifier') return ALLOCATING.has(callee.name) ? `\`${callee.name}()\`` : undefined
  if (callee.type !== 'MemberExpression' || callee.computed) return undefined
  const { object, property } = callee
  if (object.type === 'Identifier' && ALLOCATING.has(object.name))
    return `\`${object.name}.${property.name}()\``
  return ARRAY_METHODS.has(property.name) ? `the array method \`${property.name}\`` : undefined
}
