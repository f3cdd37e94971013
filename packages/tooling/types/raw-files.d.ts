// What the test runner adds to modules: files as text, one by one or by pattern, and their folder.

declare module '*?raw' {
  const text: string
  export default text
}

interface ImportMeta {
  readonly dirname: string
  readonly glob: (
    patterns: readonly string[],
    options: { readonly query: '?raw'; readonly import: 'default'; readonly eager: true },
  ) => Readonly<Record<string, string>>
}
