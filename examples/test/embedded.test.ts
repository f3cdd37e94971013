import { expect, test } from 'vitest'
import { main } from '../embedded.js'

test('embedded.ts sends each conversation back to where its prefix is, and ends with empty books', () => {
  const lines: string[] = []
  const core = main((line) => lines.push(line))
  const worker = (chat: string, turn: number) =>
    lines.find((line) => line.startsWith(`${chat}, turn ${turn} `))!.match(/worker (\d)/u)![1]
  expect(lines).toHaveLength(13)
  const chats = ['weather', 'recipes', 'taxes', 'travel']
  for (const chat of chats) {
    expect([worker(chat, 2), worker(chat, 3)]).toEqual([worker(chat, 1), worker(chat, 1)])
  }
  // The first turns spread, also onto the worker without events.
  expect(new Set(chats.map((chat) => worker(chat, 1)))).toEqual(new Set(['1', '2', '3']))
  expect(lines[4]).toMatch(/192 of 350 tokens cached/u)
  expect(lines.at(-1)).toBe('in flight at the end: 0; faults in the books: 0')

  const again: string[] = []
  main((line) => again.push(line)).dispose()
  expect(again).toEqual(lines)
  core.dispose()
})
