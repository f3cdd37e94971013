/** Waits until something holds; the message names what never did. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  for (const endMs = Date.now() + 30_000; Date.now() < endMs;) {
    if (holds()) return
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  throw new Error(`never: ${what}`)
}
