/** Which places have a member that is open, counted; a member is open in one place, or nowhere. Bounded by the members. */
export class OpenPlaces<T> {
  readonly #placeOf = new Map<T, string>()
  readonly #counts = new Map<string, number>()

  has(place: string): boolean {
    return this.#counts.has(place)
  }

  /** Where a member is open now; `undefined` = nowhere. Returns the places that have their first one by it, or lost their last. `O(1)`. */
  place(member: T, place: string | undefined): readonly string[] {
    const before = this.#placeOf.get(member)
    if (before === place) return []
    if (place === undefined) this.#placeOf.delete(member)
    else this.#placeOf.set(member, place)
    return [...this.#count(before, -1), ...this.#count(place, 1)]
  }

  #count(place: string | undefined, change: number): string[] {
    if (place === undefined) return []
    const count = (this.#counts.get(place) ?? 0) + change
    if (count === 0) this.#counts.delete(place)
    else this.#counts.set(place, count)
    return count === 0 || (change === 1 && count === 1) ? [place] : []
  }
}
