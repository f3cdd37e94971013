// Compiles src/simd/<name>.assembly.ts (AssemblyScript) of a package to src/simd/<name>-module.ts: the bytes of a WebAssembly
// module as a constant, so that nothing is loaded from a file and browsers take it as it is.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const flags = [
  '-O3',
  '--converge',
  '--noAssert',
  '--runtime',
  'stub',
  '--importMemory',
  '--enable',
  'simd',
  '--enable',
  'bulk-memory',
]

/** @param {string} packageFolder */
export async function buildSimd(packageFolder) {
  const { default: asc } = await import('assemblyscript/asc')
  const folder = path.join(packageFolder, 'src', 'simd')
  const built = []
  for (const name of readdirSync(folder).filter((entry) => entry.endsWith('.assembly.ts'))) {
    const source = readFileSync(path.join(folder, name), 'utf8')
    let bytes
    const { error, stderr } = await asc.main(['module.ts', '-o', 'module.wasm', ...flags], {
      readFile: (file) => (file === 'module.ts' ? source : null),
      writeFile: (file, contents) => {
        if (file === 'module.wasm') bytes = contents
      },
      listFiles: () => [],
    })
    if (error !== null || bytes === undefined)
      throw new Error(`${name}: ${stderr.toString()}`, { cause: error })
    const base = name.replace(/\.assembly\.ts$/u, '')
    built.push({ file: path.join(folder, `${base}-module.ts`), text: moduleText(name, bytes) })
  }
  return built
}

/** @param {string} name @param {Uint8Array} bytes */
function moduleText(name, bytes) {
  const hex = Buffer.from(bytes).toString('hex')
  const lines = hex.match(/.{1,100}/gu) ?? []
  return [
    `// Built from ${name} by \`pnpm run build:simd\`; a test compares the two.`,
    '',
    `/** The WebAssembly module as hexadecimal text, ${bytes.length} bytes. */`,
    'export const moduleHex =',
    ...lines.map((line, index) => `  '${line}'${index === lines.length - 1 ? '' : ' +'}`),
    '',
  ].join('\n')
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const { file, text } of await buildSimd(path.resolve(process.argv[2] ?? '.'))) {
    writeFileSync(file, text)
    console.log(`wrote ${path.relative(process.cwd(), file)}`)
  }
}
