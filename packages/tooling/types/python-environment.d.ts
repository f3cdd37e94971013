/** A Python that has packages, or why there is none. */
export type PythonEnvironment =
  | { readonly python: string; readonly missing?: undefined }
  | { readonly python?: undefined; readonly missing: string }

/**
 * A Python with pinned packages (`name==version`), in an environment of its own inside the repository: made once, whole or not at all,
 * and found again later. Takes at most some minutes the first time. Never rejects.
 */
export function pythonWith(requirements: readonly string[]): Promise<PythonEnvironment>

/** Runs a script, and gives what it printed. Rejects with what it said where it fails. */
export function runPython(python: string, script: string, args: readonly string[]): Promise<string>
