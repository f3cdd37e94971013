import { NONE, grown } from './entry-pool.js'

/**
 * Doubly linked lists of ids of a pool. A list is a number, 0 too; a member is in one list at a time. Every operation is `O(1)` and
 * allocates nothing; the owner lengthens the columns as its pools grow.
 */
export class LinkedLists {
  /** By member; `NONE` at the ends. */
  next = new Uint32Array(0)
  previous = new Uint32Array(0)
  /** By list; `NONE` = empty. */
  head = new Uint32Array(0)
  tail = new Uint32Array(0)

  constructor(members: number, lists: number) {
    this.growMembers(members)
    this.growLists(lists)
  }

  /** Room for members below `capacity`. */
  growMembers(capacity: number): void {
    if (capacity <= this.next.length) return
    this.next = grown(this.next, capacity)
    this.previous = grown(this.previous, capacity)
  }

  /** Room for lists below `capacity`. */
  growLists(capacity: number): void {
    if (capacity <= this.head.length) return
    const doubled = Math.max(capacity, 2 * this.head.length)
    this.head = grown(this.head, doubled)
    this.tail = grown(this.tail, doubled)
  }

  append(list: number, id: number): void {
    this.insertAfter(list, this.tail[list]!, id)
  }

  /** @param before a member of the list; `NONE` = insert at the head */
  insertAfter(list: number, before: number, id: number): void {
    const after = before === NONE ? this.head[list]! : this.next[before]!
    this.previous[id] = before
    this.next[id] = after
    if (before === NONE) this.head[list] = id
    else this.next[before] = id
    if (after === NONE) this.tail[list] = id
    else this.previous[after] = id
  }

  unlink(list: number, id: number): void {
    const before = this.previous[id]!
    const after = this.next[id]!
    if (before === NONE) this.head[list] = after
    else this.next[before] = after
    if (after === NONE) this.tail[list] = before
    else this.previous[after] = before
  }

  /** Empties a list onto the end of another. */
  appendAll(to: number, from: number): void {
    const first = this.head[from]!
    if (first === NONE) return
    const last = this.tail[to]!
    this.previous[first] = last
    if (last === NONE) this.head[to] = first
    else this.next[last] = first
    this.tail[to] = this.tail[from]!
    this.head[from] = this.tail[from] = NONE
  }
}
