import { expect, test } from 'vitest'
import { EventLoopWatch, processDelays } from '../../src/observe/event-loop-delay.js'

test('F5: slow_event_loop: a delay above 100 ms, for 60 s', () => {
  let nowMs = 0
  let delayMs = 0
  const watch = new EventLoopWatch({ takeLongestMs: () => delayMs, close: () => undefined }, () => nowMs)
  const look = (atMs: number, longestMs: number) => {
    nowMs = atMs
    delayMs = longestMs
    return watch.findings().map(({ code, scope, detail }) => [code, scope, /\d+ ms/.exec(detail)![0]])
  }
  expect(look(0, 100)).toEqual([])
  expect(look(1000, 101)).toEqual([['slow_event_loop', 'router', '101 ms']])
  expect(look(30_000, 300)).toEqual([['slow_event_loop', 'router', '300 ms']])
  expect(look(60_000, 150)).toEqual([['slow_event_loop', 'router', '300 ms']])
  expect(look(119_999, 0)).toHaveLength(1)
  expect(look(120_000, 0)).toEqual([])
})

test('the process notices that it stood still, once', async () => {
  const delays = processDelays()
  const later = () => new Promise((resolve) => setTimeout(resolve, 120))
  await later()
  const endMs = performance.now() + 400
  while (performance.now() < endMs);
  await later()
  expect(delays.takeLongestMs(100)).toBeGreaterThan(300)
  // What came since is of a calm process, or of a busy machine.
  expect(delays.takeLongestMs(100)).toBe(0)
  delays.close()
})
