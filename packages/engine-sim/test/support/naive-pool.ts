/** A cached block of the slow pool. */
interface Copy {
  readonly block: number
  references: number
}

/** The rules of the pool, said in lists: nothing is clever here. */
export class NaivePool {
  readonly capacity: number
  privateBlocks = 0
  /** Oldest first. */
  readonly copies: Copy[] = []
  /** Oldest first. */
  readonly inactiveCopies: Copy[] = []
  readonly events: string[] = []

  constructor(capacity: number) {
    this.capacity = capacity
  }

  get total(): number {
    return this.privateBlocks + this.copies.length
  }

  reserve(count: number): boolean {
    const missing = count - (this.capacity - this.total)
    if (missing > this.inactiveCopies.length) return false
    for (let evicted = 0; evicted < missing; evicted++) {
      const copy = this.inactiveCopies.shift()!
      this.copies.splice(this.copies.indexOf(copy), 1)
      if (!this.copies.some(({ block }) => block === copy.block)) this.events.push(`removed ${copy.block}`)
    }
    this.privateBlocks += count
    return true
  }

  cache(block: number): Copy {
    if (!this.copies.some((copy) => copy.block === block)) this.events.push(`stored ${block}`)
    const copy = { block, references: 1 }
    this.copies.push(copy)
    this.privateBlocks--
    return copy
  }

  oldest(block: number): Copy | undefined {
    return this.copies.find((copy) => copy.block === block)
  }

  pin(block: number): Copy {
    const copy = this.oldest(block)!
    if (copy.references++ === 0) this.inactiveCopies.splice(this.inactiveCopies.indexOf(copy), 1)
    return copy
  }

  unpin(copy: Copy): void {
    if (--copy.references === 0) this.inactiveCopies.push(copy)
  }
}
