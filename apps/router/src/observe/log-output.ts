import { Buffer } from 'node:buffer'
import { constants, fstatSync, openSync, write, writeSync } from 'node:fs'
import process from 'node:process'

/** Where lines go. */
export interface LogOutput {
  /** Keeps a line until it is written, soon; never waits. */
  readonly write: (line: string) => void
  /** Lines that were not kept because too many were waiting, or that nobody reads any more. */
  readonly dropped: () => number
  /** Resolves when everything is written, or cannot be. */
  readonly drained: () => Promise<void>
}

export interface LogOutputOptions {
  /** Default: standard output. */
  readonly fileDescriptor?: number | undefined
  /** Characters that are kept. Default 16 Mi. */
  readonly maximumLength?: number | undefined
}

/** Characters that make a write worth its price. */
const worthwhileLength = 8192
const defaultMaximumLength = 16 * 1024 * 1024
/** A line waits no longer for others. */
const longestWaitMs = 50
/** A reader that is not ready is asked again after this time, and so often when the process exits. */
const retryMs = 50
const lastTries = 20

/**
 * Lines to a file descriptor without waiting for it: many lines share a write, and a reader that stands still costs lines, not memory.
 * What is still kept when the process exits is written then, unless its reader is gone or does not read for a second.
 */
export function logOutput(options: LogOutputOptions = {}): LogOutput {
  const { maximumLength = defaultMaximumLength } = options
  const fileDescriptor = unsharedDescriptor(options.fileDescriptor ?? 1)
  let kept = ''
  let dropped = 0
  /** On its way. */
  let writing: Buffer | undefined
  /** The reader was not ready. */
  let retry: NodeJS.Timeout | undefined
  let timer: NodeJS.Timeout | undefined
  let isBroken = false
  const whenDrained: (() => void)[] = []

  const begin = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (writing !== undefined) return
    if (kept === '' || isBroken) {
      for (const done of whenDrained.splice(0)) done()
      return
    }
    writing = Buffer.from(kept)
    kept = ''
    next()
  }
  const next = (): void => {
    retry = undefined
    write(fileDescriptor, writing!, (error, written) => {
      if (error === null) writing = writing!.subarray(written)
      else if (!isNotReady(error)) isBroken = true
      if (writing!.length > 0 && !isBroken) {
        if (error === null) next()
        else retry = setTimeout(next, retryMs).unref()
        return
      }
      writing = undefined
      if (kept.length >= worthwhileLength || whenDrained.length > 0) begin()
    })
  }
  const finish = (): void => {
    // What is being written at this moment is; the system sees to that.
    let rest = Buffer.concat([...(retry === undefined ? [] : [writing!]), Buffer.from(kept)])
    kept = ''
    for (let tries = 0; rest.length > 0 && tries < lastTries && !isBroken;) {
      try {
        rest = rest.subarray(writeSync(fileDescriptor, rest))
      } catch (error) {
        if (!isNotReady(error)) return
        tries++
        sleep(retryMs)
      }
    }
  }
  process.once('exit', finish)

  return {
    write: (line) => {
      if (isBroken || kept.length + line.length > maximumLength) {
        dropped++
        return
      }
      kept += line
      if (kept.length >= worthwhileLength) begin()
      else timer ??= setTimeout(begin, longestWaitMs).unref()
    },
    dropped: () => dropped,
    drained: () =>
      new Promise((done) => {
        whenDrained.push(done)
        begin()
      }),
  }
}

/**
 * A descriptor of its own for a pipe, which never waits for the reader: a shared one waits as soon as any process that has it wants so, a
 * child that inherited it for one. The shared one where there is no other.
 */
function unsharedDescriptor(fileDescriptor: number): number {
  try {
    if (!fstatSync(fileDescriptor).isFIFO()) return fileDescriptor
    return openSync(`/proc/self/fd/${fileDescriptor}`, constants.O_WRONLY | constants.O_NONBLOCK)
  } catch {
    return fileDescriptor
  }
}

/** Whether the other side is only not ready to take more. */
function isNotReady(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EAGAIN'
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
