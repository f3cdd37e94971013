import ts from 'typescript'

/**
 * Everything that a source imports, re-exports or loads, types included.
 * @param {string} code
 * @returns {string[]} specifiers, each once
 */
export function importedSpecifiers(code) {
  const { importedFiles } = ts.preProcessFile(code, true, true)
  return [...new Set(importedFiles.map(({ fileName }) => fileName))]
}

/**
 * The package that a bare specifier belongs to, or `undefined` for a relative one.
 * @param {string} specifier
 * @returns {string | undefined}
 */
export function packageOfSpecifier(specifier) {
  if (specifier.startsWith('.') || specifier.startsWith('/')) return undefined
  const [first = '', second = ''] = specifier.split('/')
  return first.startsWith('@') ? `${first}/${second}` : first
}

/**
 * Counts the lines that hold code: not blank, not only a comment.
 * @param {string} code
 * @returns {number}
 */
export function countCodeLines(code) {
  const source = ts.createSourceFile('lines.ts', code, ts.ScriptTarget.ES2023, false)
  const lines = new Set()
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (ts.isJSDoc(node)) return
    if (node.getChildCount(source) > 0) {
      for (const child of node.getChildren(source)) visit(child)
    } else if (node.getWidth(source) > 0) {
      const first = source.getLineAndCharacterOfPosition(node.getStart(source)).line
      const last = source.getLineAndCharacterOfPosition(node.getEnd()).line
      for (let line = first; line <= last; line++) lines.add(line)
    }
  }
  visit(source)
  return lines.size
}

/**
 * True when every statement takes names from another module, as an index file should.
 * @param {string} code
 * @returns {boolean}
 */
export function onlyReExports(code) {
  const { statements } = ts.createSourceFile('index.ts', code, ts.ScriptTarget.ES2023, false)
  return (
    statements.length > 0 &&
    statements.every(
      (statement) => ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined,
    )
  )
}
