/** Makes one runnable module from a TypeScript entry and the workspace sources that it imports; absolute paths. */
export function bundleSources(request: { readonly entry: string; readonly outfile: string }): Promise<void>
