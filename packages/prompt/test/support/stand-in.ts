import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BlockHasher } from '@router/kv-index'
import { onTestFinished } from 'vitest'
import type { TokenizeJob } from '../../src/threads/messages.js'
import {
  type PromptWarning,
  type ThreadOptions,
  resolveThreadOptions,
} from '../../src/threads/thread-options.js'
import { type ThreadOutcome, TokenizerThreads } from '../../src/threads/tokenizer-threads.js'

const workerUrl = new URL('../threads/fixtures/stand-in-worker.js', import.meta.url)

/** A folder that goes with the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'router-prompt-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Threads of the stand-in worker, closed after the test; nothing is late unless the test says when. */
export class StandIn {
  readonly folder = temporaryFolder()
  readonly warnings: PromptWarning[] = []
  readonly threads: TokenizerThreads
  nowMs = 0
  #files = 0

  constructor(options: ThreadOptions = {}) {
    const given: ThreadOptions = {
      threads: 1,
      budgetMs: 600_000,
      killAfterMs: 600_000,
      nowMs: () => this.nowMs,
      onWarning: (warning) => this.warnings.push(warning),
      ...options,
    }
    this.threads = new TokenizerThreads(resolveThreadOptions(given, workerUrl), new BlockHasher())
    onTestFinished(() => this.threads.close())
    this.write('good')
  }

  /** Makes the tokenizer of a folder `good`, or anything else. */
  write(text: string, folder = this.folder): void {
    writeFileSync(join(folder, 'tokenizer.json'), text)
  }

  /** A file that is not there yet: `hold <file>` lasts until `release` makes it, `mark <file>` makes it itself. */
  gate(): { readonly file: string; readonly release: () => void } {
    const file = join(this.folder, `gate-${this.#files++}`)
    return { file, release: () => writeFileSync(file, '') }
  }

  /** A stand-in whose threads have all loaded its folder. */
  static async loaded(options: ThreadOptions): Promise<StandIn> {
    const standIn = new StandIn(options)
    await standIn.threads.load(standIn.folder)
    return standIn
  }

  /** @param start of the conversation, at least 512 bytes of it are told apart from others */
  run(order: string, start = '', folder = this.folder): Promise<ThreadOutcome> {
    const text = `${order}\n${start}`
    return this.threads.run(jobOf([new TextEncoder().encode(text)], folder))
  }
}

export function jobOf(body: readonly Uint8Array[], folder: string): TokenizeJob {
  const layout = { blockSize: 16, isEagle: false, seed: { low: 1337, high: 0 } }
  return { folder, endpoint: 'chat', body, layout }
}

/** Thread, number of the prompt in it, bytes of the body. */
export function placeOf(outcome: ThreadOutcome): number[] {
  if (outcome.kind !== 'done') throw new Error(`expected a prompt, got ${outcome.kind}`)
  return [...outcome.prompt.tokens]
}
