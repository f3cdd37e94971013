/** Compiles every `src/simd/*.assembly.ts` of a package folder; returns the text of the module file next to each. */
export function buildSimd(packageFolder: string): Promise<{ readonly file: string; readonly text: string }[]>
