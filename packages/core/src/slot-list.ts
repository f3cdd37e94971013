/** Slots to visit later. Allocates nothing but when it grows: an emptied array would give its store away. */
export class SlotList {
  count = 0
  slots = new Int32Array(16)

  push(slot: number): void {
    if (this.count === this.slots.length) {
      const larger = new Int32Array(this.count * 2)
      larger.set(this.slots)
      this.slots = larger
    }
    this.slots[this.count++] = slot
  }

  clear(): void {
    this.count = 0
  }

  remove(gone: ReadonlySet<number>): void {
    let kept = 0
    for (let index = 0; index < this.count; index++) {
      const slot = this.slots[index]!
      if (!gone.has(slot)) this.slots[kept++] = slot
    }
    this.count = kept
  }
}
