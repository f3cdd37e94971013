type Growable = Float64Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>

/** A copy with room for `length` entries; the new ones are `fill`. */
export function grownTo<A extends Growable>(array: A, length: number, fill = 0): A {
  const larger = new (array.constructor as new (length: number) => A)(length)
  larger.set(array as never)
  if (fill !== 0) larger.fill(fill, array.length)
  return larger
}

/** The next capacity that holds `length` entries: doubling, so that growing costs `O(1)` an entry. */
export function capacityFor(length: number, capacity: number): number {
  let larger = capacity
  while (larger < length) larger *= 2
  return larger
}
