import { describe, expect, it, vi } from 'vitest'
import { StandIn, placeOf, temporaryFolder } from '../support/stand-in.js'

describe('a thread that is lost', () => {
  it('by a prompt that never ends: the prompt is told, the thread replaced', async () => {
    const standIn = new StandIn({ killAfterMs: 3000 })
    const [thread] = placeOf(await standIn.run('echo'))
    const [loop, behind] = await Promise.all([standIn.run('loop'), standIn.run('echo')])
    expect(loop).toEqual({ kind: 'killed' })
    expect(placeOf(behind).slice(0, 2)).toEqual([expect.any(Number), 1])
    expect(placeOf(behind)[0]).not.toBe(thread)
    expect(standIn.threads.counters).toMatchObject({ killed: 1, crashed: 0, done: 2 })
    expect(standIn.warnings).toMatchObject([{ code: 'tokenizer_killed', folder: standIn.folder }])
  })

  it.each([
    ['exit', 'the thread ended by itself'],
    ['throw', 'thrown beside a job'],
    ['memory', expect.stringMatching(/memory/u)],
  ])('by %s: the prompt is told why', async (order, message) => {
    const standIn = new StandIn({ threadMemoryMb: 64 })
    expect(await standIn.run(order)).toMatchObject({ kind: 'failed', message })
    expect(placeOf(await standIn.run('echo'))[1]).toBe(1)
    expect(standIn.threads.counters).toMatchObject({ killed: 0, crashed: 1 })
  })

  it('between two prompts costs nothing but a new one', async () => {
    const standIn = new StandIn()
    const { file } = standIn.gate()
    expect((await standIn.run(`mark ${file}\nwith more`)).kind).toBe('done')
    const { threads } = standIn
    await standIn.run('exit')
    expect([threads.busy, (await standIn.run('echo')).kind]).toEqual([0, 'done'])
  })

  it('has no conversation any more: they go where something is loaded', async () => {
    const standIn = await StandIn.loaded({ threads: 2 })
    const start = 'a'.repeat(600)
    const [first, second] = [standIn.gate(), standIn.gate()]
    const [lost] = placeOf(await standIn.run('echo', start))
    const held = [first, second].map(({ file }) => standIn.run(`hold ${file}`))
    first.release()
    expect(placeOf(await held[0]!)[0]).toBe(lost)
    // The other one works.
    await standIn.run('exit')
    second.release()
    const [kept] = placeOf(await held[1]!)
    expect(placeOf(await standIn.run('echo', start))[0]).toBe(kept)
    expect(placeOf(await standIn.run('echo'))[0]).toBe(kept)
  })

  it('whose module cannot be started: every prompt is told, none waits', async () => {
    const standIn = new StandIn({ workerUrl: new URL('file:///nowhere/worker.js'), setAsideAfter: 100 })
    const outcomes = await Promise.all([standIn.run('echo'), standIn.run('echo')])
    expect(outcomes).toMatchObject([{ kind: 'failed' }, { kind: 'failed' }])
    expect(standIn.threads.counters.crashed).toBe(2)
  })

  it('whose module is no URL that threads know is lost the same way', async () => {
    const standIn = new StandIn({ workerUrl: new URL('https://nowhere/worker.js'), setAsideAfter: 100 })
    const outcomes = await Promise.all([standIn.run('echo'), standIn.run('echo')])
    expect(outcomes).toMatchObject([{ kind: 'failed' }, { kind: 'failed' }])
  })
})

it('every prompt is answered, and counted once, whatever happens to the threads', async () => {
  const standIn = new StandIn({ threads: 3, queueLimit: 150, setAsideAfter: 100 })
  const orders = ['echo', 'echo', 'fail', 'echo', 'echo', 'echo', 'echo', 'echo', 'exit', 'echo']
  const kinds: Record<string, number> = {}
  const runs = Array.from({ length: 200 }, (_, index) =>
    standIn.run(orders[(index * 7 + (index >> 4)) % 10]!, `${index % 5} `.repeat(400)),
  )
  for (const { kind } of await Promise.all(runs)) kinds[kind] = (kinds[kind] ?? 0) + 1
  const { counters, waiting, busy } = standIn.threads
  expect([waiting, busy, kinds['queue_full'], counters.jobs]).toEqual([0, 0, 47, 200])
  expect(counters).toMatchObject({ done: kinds['done'], queueFull: 47 })
  expect(counters.failed + counters.crashed).toBe(kinds['failed'])
  expect(counters.crashed).toBeGreaterThan(5)
  expect(counters.done + counters.failed + counters.crashed + counters.queueFull).toBe(200)
})

describe('a folder that costs threads', () => {
  it('is set aside for a while, others are not; then it has its chances again', async () => {
    const standIn = new StandIn({ setAsideAfter: 2, setAsideMs: 1000 })
    const other = temporaryFolder()
    standIn.write('good', other)
    const runs = [standIn.run('exit'), standIn.run('exit'), standIn.run('echo')]
    expect((await Promise.all(runs)).map(({ kind }) => kind)).toEqual(['failed', 'failed', 'set_aside'])
    standIn.nowMs = 999
    expect(await standIn.run('echo')).toEqual({ kind: 'set_aside' })
    expect((await standIn.run('echo', '', other)).kind).toBe('done')
    expect(standIn.threads.counters).toMatchObject({ crashed: 2, setAside: 1, refusedSetAside: 2, done: 1 })
    expect(standIn.warnings.map(({ code }) => code)).toEqual(['tokenizer_killed', 'tokenizer_set_aside'])
    standIn.nowMs = 1000
    expect((await standIn.run('exit')).kind).toBe('failed')
    expect((await standIn.run('echo')).kind).toBe('done')
  })

  it('is not set aside for losses with successes in between', async () => {
    const standIn = new StandIn({ setAsideAfter: 2 })
    for (const order of ['exit', 'echo', 'exit', 'echo', 'exit']) await standIn.run(order)
    expect((await standIn.run('echo')).kind).toBe('done')
    expect(standIn.threads.counters).toMatchObject({ crashed: 3, setAside: 0 })
  })

  it('is not set aside for prompts over 48 KiB, which may take for ever by themselves', async () => {
    const standIn = new StandIn({ setAsideAfter: 1 })
    const bytes = 49_152 - 'exit\n'.length
    expect((await standIn.run('exit', 'a'.repeat(bytes + 1))).kind).toBe('failed')
    expect((await standIn.run('echo')).kind).toBe('done')
    expect(standIn.warnings.map(({ code }) => code)).toEqual(['tokenizer_killed'])
    expect((await standIn.run('exit', 'a'.repeat(bytes))).kind).toBe('failed')
    expect((await standIn.run('echo')).kind).toBe('set_aside')
  })

  it('comes back by a load that works', async () => {
    const standIn = new StandIn({ setAsideAfter: 1 })
    await standIn.run('exit')
    expect((await standIn.run('echo')).kind).toBe('set_aside')
    await standIn.threads.load(standIn.folder)
    expect((await standIn.run('echo')).kind).toBe('done')
  })
})

describe('a folder that cannot be loaded', () => {
  it('is told once, and its prompts are answered without a thread', async () => {
    const standIn = new StandIn()
    standIn.write('cut')
    const refused = { kind: 'unavailable', code: 'PROMPT_TOKENIZER_INVALID', message: "is 'cut'" }
    const both = await Promise.all([standIn.run('echo'), standIn.run('echo')])
    expect(both).toEqual([refused, refused])
    expect(await standIn.run('echo')).toEqual(refused)
    expect(standIn.threads.counters).toMatchObject({ jobs: 3, loadsFailed: 1, unavailable: 3 })
    expect(standIn.warnings).toEqual([
      { code: 'tokenizer_unavailable', folder: standIn.folder, message: "is 'cut'" },
    ])
  })

  it('is tried again once its files have changed, and looked at ever more seldom', async () => {
    const standIn = new StandIn({ retryAfterMs: 1000 })
    standIn.write('cut')
    const { folderStamp } = await import('../../src/threads/folder-stamp.js')
    const stamp = await folderStamp(standIn.folder)
    const loads = async (nowMs: number): Promise<number> => {
      standIn.nowMs = nowMs
      await standIn.run('echo', stamp)
      // A look is taken beside the prompts.
      for (let turn = 0; turn < 20; turn++) await folderStamp(standIn.folder)
      await standIn.run('echo', stamp)
      return standIn.threads.counters.loadsFailed
    }
    expect([await loads(0), await loads(999), await loads(1000)]).toEqual([1, 1, 1])
    standIn.write('cut again, and longer')
    // Looked at in vain at 1,000, so not before 3,000.
    expect([await loads(2999), await loads(3000)]).toEqual([1, 2])
    standIn.write('good')
    standIn.nowMs = 1_000_000
    await vi.waitUntil(async () => (await standIn.run('echo')).kind === 'done', 30_000)
  })

  it('fails a load by its code', async () => {
    const standIn = new StandIn({ threads: 2 })
    const nowhere = temporaryFolder()
    await expect(standIn.threads.load(nowhere)).rejects.toMatchObject({ code: 'PROMPT_TOKENIZER_MISSING' })
    expect([standIn.threads.counters.loadsFailed, standIn.warnings.length]).toEqual([2, 1])
    standIn.write('deadly')
    await expect(standIn.threads.load(standIn.folder)).rejects.toMatchObject({
      code: 'PROMPT_TOKENIZER_INVALID',
      message: expect.stringContaining(standIn.folder),
    })
    standIn.write('good')
    await standIn.threads.load(standIn.folder)
    expect(standIn.threads.vocabularySizeOf(standIn.folder)).toBe(1000)
  })

  it('is remembered within a bound', async () => {
    const standIn = new StandIn({ queueLimit: 2000 })
    const folders = Array.from({ length: 1100 }, (_, index) => `/nowhere/${index}`)
    await Promise.all(folders.map((folder) => standIn.run('echo', '', folder)))
    expect(standIn.threads.sizes.folders).toBe(1024)
    expect(standIn.threads.counters.loadsFailed).toBe(1100)
    await standIn.run('echo', '', folders[0])
    await standIn.run('echo', '', folders[1099])
    expect(standIn.threads.counters.loadsFailed).toBe(1101)
  })
})
