/**
 * Works through `items` in order, `width` at a time.
 * @template T
 * @param {number} width
 * @param {readonly T[]} items
 * @param {(item: T) => Promise<void>} work
 */
export async function inLanes(width, items, work) {
  let next = 0
  const lane = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item)
  }
  await Promise.all(Array.from({ length: width }, lane))
}
