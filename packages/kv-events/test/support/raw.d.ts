// What the test runner adds to modules: files as text.

declare module '*?raw' {
  const text: string
  export default text
}
