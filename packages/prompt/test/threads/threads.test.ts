import { existsSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { StandIn, jobOf, placeOf } from '../support/stand-in.js'

const promptOf = (letter: string): string => letter.repeat(600)

describe('a prompt', () => {
  it('is answered by a thread, with what the thread found', async () => {
    const { threads, folder } = new StandIn()
    const pieces = ['echo', '\nab', '', 'c'].map((text) => new TextEncoder().encode(text))
    const outcome = await threads.run(jobOf(pieces, folder))
    expect(placeOf(outcome)).toEqual([expect.any(Number), 1, 8])
    expect(pieces.map((piece) => piece.length)).toEqual([4, 3, 0, 1])
    expect(threads.counters).toMatchObject({ jobs: 1, done: 1, tokens: 3, reusedTokens: 2 })
    expect(threads.vocabularySizeOf(folder)).toBe(1000)
  })

  it('that the thread could not tokenize says why, and the thread goes on', async () => {
    const standIn = new StandIn()
    expect(await standIn.run('fail')).toMatchObject({ kind: 'failed', code: undefined, message: 'could not' })
    expect(await standIn.run('template')).toMatchObject({ kind: 'failed', code: 'PROMPT_TEMPLATE_FAILED' })
    expect(placeOf(await standIn.run('echo'))[1]).toBe(3)
    expect(standIn.threads.counters).toMatchObject({ jobs: 3, done: 1, failed: 2 })
  })

  it('of more bytes than may be tokenized is not sent', async () => {
    const standIn = new StandIn({ maxTextBytes: 8 })
    expect(placeOf(await standIn.run('echo', 'abc'))[2]).toBe(8)
    expect(await standIn.run('echo', 'abcd')).toEqual({ kind: 'too_large' })
    expect(standIn.threads.counters.tooLarge).toBe(1)
  })
})

describe('the queue', () => {
  it('is bounded: one more prompt is refused at once, and there is room again afterwards', async () => {
    const standIn = new StandIn({ queueLimit: 2 })
    const gate = standIn.gate()
    const accepted = [standIn.run(`hold ${gate.file}`), standIn.run('echo'), standIn.run('echo')]
    expect([standIn.threads.busy, standIn.threads.waiting]).toEqual([1, 2])
    expect(await standIn.run('echo')).toEqual({ kind: 'queue_full' })
    gate.release()
    expect((await Promise.all(accepted)).map((outcome) => placeOf(outcome)[1])).toEqual([1, 2, 3])
    expect(placeOf(await standIn.run('echo'))[1]).toBe(4)
    expect([standIn.threads.waiting, standIn.threads.counters.queueFull]).toEqual([0, 1])
  })

  it('of length 0 leaves what no thread can begin', async () => {
    const standIn = new StandIn({ queueLimit: 0 })
    const gate = standIn.gate()
    const held = standIn.run(`hold ${gate.file}`)
    expect(await standIn.run('echo')).toEqual({ kind: 'queue_full' })
    gate.release()
    expect((await held).kind).toBe('done')
  })
})

describe('the budget', () => {
  it('ends the wait of the caller, not the work: what is begun is finished, what waits is dropped', async () => {
    const standIn = new StandIn({ budgetMs: 30 })
    const gate = standIn.gate()
    const both = await Promise.all([standIn.run(`hold ${gate.file}`), standIn.run('echo')])
    expect(both).toEqual([{ kind: 'late' }, { kind: 'late' }])
    expect(standIn.threads.counters).toMatchObject({ late: 2, droppedLate: 1, finishedLate: 0, done: 0 })
    expect([standIn.threads.busy, standIn.threads.waiting]).toEqual([1, 0])
    gate.release()
    await vi.waitUntil(() => standIn.threads.busy === 0, 30_000)
    expect(standIn.threads.counters).toMatchObject({ finishedLate: 1, done: 1 })
  })

  it('counts an answer that came while the event loop was blocked', async () => {
    const standIn = await StandIn.loaded({ budgetMs: 200 })
    const { file } = standIn.gate()
    // At the end of a turn: timers come next, before what threads have sent.
    await nextTurn()
    const answer = standIn.run(`mark ${file}`)
    const end = performance.now() + 300
    while (performance.now() < end || !existsSync(file));
    expect((await answer).kind).toBe('done')
  })
})

describe('conversations', () => {
  it('go to the thread that has them, also as they grow', async () => {
    const standIn = await StandIn.loaded({ threads: 3 })
    const gates = ['a', 'b', 'c'].map(() => standIn.gate())
    const held = gates.map(({ file }, index) => standIn.run(`hold ${file}`, promptOf('abc'[index]!)))
    for (const { release } of gates) release()
    const threads = (await Promise.all(held)).map((outcome) => placeOf(outcome)[0])
    expect(new Set(threads).size).toBe(3)
    const turns = gates.map(({ file }) => `hold ${file}`)
    for (const more of [0, 2000, 9000, 200_000]) {
      for (const [index, order] of turns.entries()) {
        const start = promptOf('abc'[index]!) + 'x'.repeat(more)
        expect(placeOf(await standIn.run(order, start))[0]).toBe(threads[index])
      }
    }
    expect(standIn.threads.counters.spilled).toBe(0)
    // Starts of 512 bytes are three, the later ones of three conversations each.
    expect(standIn.threads.sizes.conversations).toBe(12)
  })

  it('move when another thread has less to do', async () => {
    const standIn = await StandIn.loaded({ threads: 2 })
    const gate = standIn.gate()
    const order = `hold ${gate.file}`
    const held = [0, 1, 2].map(() => standIn.run(order, promptOf('a')))
    expect(standIn.threads.counters.spilled).toBe(1)
    gate.release()
    const [first, second, third] = (await Promise.all(held)).map((outcome) => placeOf(outcome)[0])
    expect([second === first, third === first]).toEqual([true, false])
    expect(placeOf(await standIn.run(order, promptOf('a')))[0]).toBe(third)
  })

  it('are remembered within a bound', async () => {
    const standIn = new StandIn()
    await Promise.all(
      Array.from({ length: 100 }, (_, round) => round).map(async (round) => {
        for (let turn = 0; turn < 50; turn++) await standIn.run('echo', promptOf(`${round}-${turn} `))
      }),
    )
    expect(standIn.threads.sizes.conversations).toBe(4096)
    expect(standIn.threads.counters.done).toBe(5000)
  })
})

describe('a prompt that takes long', () => {
  it('does not hold up those behind it: they go to other threads', async () => {
    const standIn = await StandIn.loaded({ threads: 2, budgetMs: 4000 })
    const [long, short] = [standIn.gate(), standIn.gate()]
    const runs = [
      standIn.run(`hold ${long.file}`, promptOf('a')),
      standIn.run(`hold ${short.file}`, promptOf('b')),
    ]
    const behind = standIn.run('echo', promptOf('a'))
    expect(standIn.threads.waiting).toBe(1)
    short.release()
    // The other thread is the only one that can answer.
    expect((await behind).kind).toBe('done')
    expect(standIn.threads.busy).toBe(1)
    long.release()
    await Promise.all(runs)
  })
})

describe('closing', () => {
  it('answers whatever waits or runs, and what comes later', async () => {
    const standIn = new StandIn({ threads: 2 })
    const runs = Array.from({ length: 5 }, () => standIn.run('loop'))
    const load = standIn.threads.load(standIn.folder)
    const refused = expect(load).rejects.toMatchObject({ code: 'PROMPT_TOKENIZER_INVALID' })
    await standIn.threads.close()
    expect(await Promise.all(runs)).toEqual(Array.from({ length: 5 }, () => ({ kind: 'closed' })))
    await refused
    expect(await standIn.run('echo')).toEqual({ kind: 'closed' })
    expect([standIn.threads.busy, standIn.threads.waiting]).toEqual([0, 0])
  })
})
