/** True when `value` carries `marker`, whichever installed copy of this package put it there. */
export function isMarked(value: unknown, marker: symbol): boolean {
  if (typeof value !== 'object' || value === null) return false
  try {
    return (value as Record<symbol, unknown>)[marker] === true
  } catch {
    // A proxy that throws when asked is nothing that this package made.
    return false
  }
}
