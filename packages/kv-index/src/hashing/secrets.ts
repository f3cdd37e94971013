/** Bytes of a secret. */
const secretBytes = 192

/** The default secret of XXH3: 192 bytes as hexadecimal text. */
export const defaultSecretHex =
  'b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221' +
  'b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8' +
  'a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb' +
  '170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e'

const slots = 8

/** Bytes that `Secrets` takes of a buffer: the default secret and the derived ones. */
const secretsBytes = (1 + slots) * secretBytes

/**
 * The secrets of XXH3 in the first bytes of a buffer: the default one at 0, behind it those derived from the last seeds, at most
 * eight; a seed that needs the place of another replaces it.
 */
export class Secrets {
  readonly view: DataView
  // Low and high half of the seed in each slot.
  readonly #seeds = new Int32Array(2 * slots)
  readonly #isDerived = new Uint8Array(slots)

  constructor(buffer: ArrayBufferLike) {
    this.view = new DataView(buffer, 0, secretsBytes)
    for (let at = 0; at < secretBytes; at++) {
      this.view.setUint8(at, Number.parseInt(defaultSecretHex.slice(2 * at, 2 * at + 2), 16))
    }
  }

  /** Where the secret of a seed lies, in bytes. `O(1)`, allocates nothing. */
  derivedFor(seedLow: number, seedHigh: number): number {
    const slot = (seedLow ^ seedHigh) & (slots - 1)
    const at = (1 + slot) * secretBytes
    const seeds = this.#seeds
    const isKnown = seeds[2 * slot] === (seedLow | 0) && seeds[2 * slot + 1] === (seedHigh | 0)
    if (isKnown && this.#isDerived[slot] === 1) return at
    derive(this.view, at, seedLow >>> 0, seedHigh >>> 0)
    seeds[2 * slot] = seedLow
    seeds[2 * slot + 1] = seedHigh
    this.#isDerived[slot] = 1
    return at
  }
}

/** The default secret with the seed added to each even word of 64 bits and taken from each odd one. */
function derive(view: DataView, at: number, seedLow: number, seedHigh: number): void {
  for (let from = 0; from < secretBytes; from += 16) {
    const sum = view.getUint32(from, true) + seedLow
    const carry = sum > 0xffff_ffff ? 1 : 0
    view.setUint32(at + from, sum, true)
    view.setUint32(at + from + 4, view.getUint32(from + 4, true) + seedHigh + carry, true)
    const difference = view.getUint32(from + 8, true) - seedLow
    const borrow = difference < 0 ? 1 : 0
    view.setUint32(at + from + 8, difference, true)
    view.setUint32(at + from + 12, view.getUint32(from + 12, true) - seedHigh - borrow, true)
  }
}
