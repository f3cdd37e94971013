/**
 * The latest place of a name that one holder has at several places: children go there. Rare (engines chain their hashes), so plain maps;
 * an entry lives while the holder has the name, which bounds them by the blocks held.
 */
export class LatestPlaces {
  size = 0
  readonly #byHolder = new Map<number, Map<string, number>>()

  /** Position in the pool; `undefined` = the holder has the name once, or not at all. */
  get(holder: number, low: number, high: number): number | undefined {
    return this.#byHolder.get(holder)?.get(keyOf(low, high))
  }

  set(holder: number, low: number, high: number, position: number): void {
    const places = this.#byHolder.get(holder) ?? new Map<string, number>()
    this.size -= places.size
    places.set(keyOf(low, high), position)
    this.size += places.size
    this.#byHolder.set(holder, places)
  }

  delete(holder: number, low: number, high: number): void {
    const places = this.#byHolder.get(holder)
    if (places?.delete(keyOf(low, high)) !== true) return
    this.size--
    if (places.size === 0) this.#byHolder.delete(holder)
  }

  forget(holder: number): void {
    this.size -= this.#byHolder.get(holder)?.size ?? 0
    this.#byHolder.delete(holder)
  }
}

function keyOf(low: number, high: number): string {
  return `${high}:${low}`
}
