import type { RequestTable } from './request-table.js'

/** What a pass takes time for. */
export class PassBatches {
  /** Requests with a prompt token in the pass; their prompt tokens computed after it, and before. */
  prefillBatch = 0
  prefillEnds = 0
  prefillStarts = 0
  /** Requests that decode in the pass, and the tokens they have before the new one. */
  decodeBatch = 0
  decodeContext = 0

  clear(): void {
    this.prefillBatch = 0
    this.prefillEnds = 0
    this.prefillStarts = 0
    this.decodeBatch = 0
    this.decodeContext = 0
  }

  /** Sums up the first `count` of `running`. */
  sum(requests: RequestTable, running: Int32Array, count: number): void {
    const { computedTokens, knownTokens, promptTokens, maxOutputTokens, scheduledTokens } = requests
    this.clear()
    for (let index = 0; index < count; index++) {
      const request = running[index]!
      const after = computedTokens[request]!
      const before = after - scheduledTokens[request]!
      const prompt = promptTokens[request]!
      const known = knownTokens[request]!
      const hasPromptToken = before < prompt && after > before
      if (hasPromptToken) {
        this.prefillBatch++
        this.prefillStarts += before
        this.prefillEnds += after < prompt ? after : prompt
      }
      if (after !== known || maxOutputTokens[request] === 0) continue
      if (hasPromptToken && known === prompt) continue
      this.decodeBatch++
      this.decodeContext += known
    }
  }
}
