import { GCProfiler, getHeapStatistics } from 'node:v8'
import { median } from './statistics.js'
import { warmUp } from './timing.js'
import type { Body } from './variant.js'

const takes = 9
const mostCalls = 20_000
const checkWarmUpMs = 50
const checkTakeMs = 20

/**
 * Bytes that one warm call allocates on the JavaScript heap: the growth of the used heap over many calls, plus what the garbage
 * collections in between freed (the engine reports the used heap before and after each). The median of several takes: one in
 * which the engine compiles something counts that too, and the first ones often do. @param takeMs how long a take may last, about
 */
export function bytesPerCall(body: Body, takeMs: number): number {
  const calls = affordableCalls(body, takeMs)
  const measured = Array.from({ length: takes }, () => allocatedBytes(body, calls) - allocatedBytes(body, 0))
  return Math.max(0, median(measured) / calls)
}

function affordableCalls(body: Body, takeMs: number): number {
  let calls = 0
  const end = performance.now() + takeMs
  do {
    body()
    calls++
  } while (calls < mostCalls && performance.now() < end)
  return calls
}

function allocatedBytes(body: Body, calls: number): number {
  const profiler = new GCProfiler()
  profiler.start()
  const before = getHeapStatistics().used_heap_size
  for (let call = 0; call < calls; call++) body()
  const after = getHeapStatistics().used_heap_size
  const collections = profiler.stop().statistics
  const freed = collections.reduce(
    (sum, { beforeGC, afterGC }) =>
      sum + beforeGC.heapStatistics.usedHeapSize - afterGC.heapStatistics.usedHeapSize,
    0,
  )
  return after - before + freed
}

/** A loop whose allocation is known, as the method of `bytesPerCall` sees it. */
export interface AllocationCheck {
  readonly what: string
  readonly expectedBytes: number
  readonly measuredBytes: number
}

const ring: (object | number)[] = Array.from({ length: 64 }, () => ({}))
let turn = 0
// A 64-bit engine without compressed pointers: three words of header and one a property.
const bytesOfPair = 40
const bytesOfBoxedDouble = 16

const known: readonly { readonly what: string; readonly expectedBytes: number; readonly body: Body }[] = [
  { what: 'nothing', expectedBytes: 0, body: () => (turn = (turn + 1) & 63) },
  {
    what: 'a double in a box',
    expectedBytes: bytesOfBoxedDouble,
    body: () => {
      turn = (turn + 1) & 63
      ring[turn] = turn + 0.5
      return turn
    },
  },
  {
    what: 'an object of two fields',
    expectedBytes: bytesOfPair,
    body: () => {
      turn = (turn + 1) & 63
      ring[turn] = { turn, next: turn }
      return turn
    },
  },
  {
    what: '1,000 such objects, collected meanwhile',
    expectedBytes: 1000 * bytesOfPair,
    body: () => {
      for (let index = 0; index < 1000; index++) ring[index & 63] = { turn: index, next: turn }
      return 0
    },
  },
]

/** Runs the method on loops whose allocation is known. */
export function checkAllocationMethod(): AllocationCheck[] {
  return known.map(({ what, expectedBytes, body }) => {
    warmUp(body, checkWarmUpMs)
    return { what, expectedBytes, measuredBytes: bytesPerCall(body, checkTakeMs) }
  })
}
