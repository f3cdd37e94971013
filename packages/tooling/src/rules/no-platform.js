import { isBuiltin } from 'node:module'

const PLATFORM = new Set(
  (
    'process performance crypto setTimeout setInterval setImmediate queueMicrotask fetch console Buffer require ' +
    'document window navigator localStorage'
  ).split(' '),
)

/**
 * Keeps a package free of the clock, of randomness and of the platform: the host injects what it needs of them. Only
 * global names count, so a parameter called `process` is fine.
 */
export const noPlatform = {
  meta: {
    type: 'problem',
    docs: { description: 'Disallow Node built-ins, clocks, timers and ambient randomness' },
  },
  /** @param {any} context */
  create(context) {
    /**
     * @param {any} node
     * @param {string} what
     */
    const report = (node, what) =>
      context.report({ node, message: `${what} is not available here; take it from the host.` })
    /** @param {any} node */
    const checkSource = (node) => {
      const specifier = node.source?.value
      if (typeof specifier === 'string' && isBuiltin(specifier))
        report(node, `The Node built-in '${specifier}'`)
    }
    return {
      ImportDeclaration: checkSource,
      ImportExpression: checkSource,
      ExportNamedDeclaration: checkSource,
      ExportAllDeclaration: checkSource,
      /** @param {any} program */
      'Program:exit'(program) {
        for (const identifier of globalReferences(context.sourceCode.getScope(program))) {
          const what = platformUse(identifier)
          if (what !== undefined) report(identifier, what)
        }
      },
    }
  },
}

/**
 * @param {any} scope the global scope
 * @returns {any[]} identifiers that refer to a name which the file does not declare
 */
function globalReferences(scope) {
  const undeclared = scope.variables.filter((/** @type {any} */ variable) => variable.defs.length === 0)
  return [...scope.through, ...undeclared.flatMap((/** @type {any} */ variable) => variable.references)]
    .filter((reference) => reference.isTypeReference !== true || reference.isValueReference === true)
    .map((reference) => reference.identifier)
}

/**
 * @param {any} identifier a reference to a global
 * @returns {string | undefined} the forbidden thing it reaches for
 */
function platformUse(identifier) {
  const { name, parent } = identifier
  if (PLATFORM.has(name)) return `\`${name}\``
  const member =
    parent?.type === 'MemberExpression' && parent.object === identifier ? memberName(parent) : undefined
  if (name === 'globalThis') {
    return member !== undefined && PLATFORM.has(member) ? `\`globalThis.${member}\`` : undefined
  }
  if (name === 'Math' && member === 'random') return '`Math.random`'
  if (name !== 'Date') return undefined
  if (member === 'now') return '`Date.now`'
  const isCalled = parent?.callee === identifier
  if (isCalled && parent.type === 'CallExpression') return '`Date()`'
  return isCalled && parent.arguments.length === 0 ? '`new Date()`' : undefined
}

/** @param {any} member */
function memberName({ computed, property }) {
  if (!computed) return property.name
  return property.type === 'Literal' ? property.value : undefined
}
