declare const process: { readonly memoryUsage: () => { readonly heapUsed: number } }

/** How a call is weighed. */
export interface Weighing {
  readonly warmUps: number
  /** Calls of a batch. */
  readonly calls: number
  readonly batches: number
  /** No further batch is needed at so many bytes a call. Default 0. */
  readonly enough?: number
}

/**
 * Bytes per call on the JavaScript heap: the smallest growth over several batches. A batch during which the collector ran shrinks
 * the heap and is left out; a call that allocates shows in every other one.
 */
export function bytesPerCall(body: () => unknown, { warmUps, calls, batches, enough = 0 }: Weighing): number {
  for (let call = 0; call < warmUps; call++) body()
  let least = Infinity
  for (let batch = 0; batch < batches && least > enough; batch++) {
    const before = process.memoryUsage().heapUsed
    for (let call = 0; call < calls; call++) body()
    const growth = process.memoryUsage().heapUsed - before
    if (growth >= 0 && growth / calls < least) least = growth / calls
  }
  return least
}
