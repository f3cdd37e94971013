/** True when `value` carries `marker`, whichever installed copy of this package put it there. */
export function isMarked(value: unknown, marker: symbol): boolean {
  return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[marker] === true
}
