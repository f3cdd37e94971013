import type { HandMadeRow } from '@router/conformance'
import { handMadeView } from '@router/conformance'
import { describe, expect, it } from 'vitest'
import { cpu, row, rows } from '../test/built-policy.js'
import { type Draw, ScriptedRandom } from '../test/scripted-random.js'
import {
  allowedCpuReservations,
  betterRankOfTwo,
  betterWorkerOfTwo,
  countWorkers,
  findRank,
  findWorker,
  leastLoadedRank,
  leastLoadedWorker,
  pickByDevice,
  rowAt,
  startOfWorker,
  workerEnd,
  workerReservations,
} from './kernel.js'

const random = new ScriptedRandom()

/** The same rows in canonical order, and in the order given with the canonical one beside it. */
function views(all: readonly HandMadeRow[]) {
  const canonical = all.toSorted((a, b) =>
    a.workerId === b.workerId ? a.dpRank! - b.dpRank! : a.workerId < b.workerId ? -1 : 1,
  )
  const left = [{ workerId: 0n, reservations: 0, cacheHits: 9 }]
  return [handMadeView(canonical, { leftOvers: left }), handMadeView(all, { leftOvers: left })] as never[]
}

/** Name of the row at an index. */
const nameAt = (view: never, index: number): string => {
  const { canonicalRows, workerId, dpRank } = view as ReturnType<typeof handMadeView>
  const at = rowAt(canonicalRows, index)
  return `${workerId(at)}.${dpRank[at]}`
}

/** What a choice takes with these draws, the same in either order of rows. */
function pickOf(
  all: readonly HandMadeRow[],
  draws: readonly Draw[],
  choose: (view: never) => number,
): string {
  const picks = views(all).map((view) =>
    nameAt(
      view,
      random.with(draws, () => choose(view)),
    ),
  )
  expect(picks[1]).toBe(picks[0])
  return picks[0]!
}

const far = 2n ** 32n
const fleet: HandMadeRow[] = [
  row('30'),
  { workerId: far + 10n, dpRank: 0 },
  row('10.1'),
  row('20.5'),
  row('10.0'),
  row('20.3'),
]

describe('workers and ranks', () => {
  it('stand together in canonical order', () => {
    for (const view of views(fleet)) {
      expect(countWorkers(view)).toBe(4)
      expect([0, 1, 2, 3].map((place) => startOfWorker(view, place))).toEqual([0, 2, 4, 5])
      expect([0, 2, 4, 5].map((start) => workerEnd(view, start))).toEqual([2, 4, 5, 6])
    }
  })

  it('are told apart by either half of the id', () => {
    for (const other of [far, 1n]) {
      for (const view of views([row('0'), { workerId: other, dpRank: 0 }])) expect(workerEnd(view, 0)).toBe(1)
    }
  })

  it('are found by id and rank', () => {
    for (const view of views(fleet)) {
      expect([10n, 20n, 30n, far + 10n].map((id) => findWorker(view, id))).toEqual([0, 2, 4, 5])
      expect([0n, 15n, 31n, far + 11n].map((id) => findWorker(view, id))).toEqual([-1, -1, -1, -1])
      expect([3, 5, 4, 0].map((rank) => findRank(view, 2, 4, rank))).toEqual([2, 3, -1, -1])
    }
  })

  it('add up their reservations', () => {
    const all = [row('2.0', { reservations: 2 ** 32 - 1 }), row('2.1', { reservations: 2 ** 32 - 1 })]
    for (const view of views(all)) expect(workerReservations(view, 0, 2)).toBe(2 ** 33 - 2)
  })
})

describe('leastLoadedWorker', () => {
  const pick = (draws: readonly Draw[], ...texts: string[]): string =>
    pickOf(rows(...texts), draws, (view) => leastLoadedWorker(view, random))

  it('weighs the sum over ranks', () => {
    expect(pick([], '10.0 x2', '20.0 x2', '10.1 x1')).toBe('20.0')
  })

  it('draws for ties, also for those that are beaten later', () => {
    const ties = [
      { n: 2, value: 1 },
      { n: 3, value: 0 },
    ]
    expect(pick(ties, '10', '20', '30')).toBe('30.0')
    expect(pick([{ n: 2, value: 0 }], '10 x1', '20 x1', '30 x2')).toBe('20.0')
    expect(pick([{ n: 2, value: 0 }], '10 x1', '20 x1', '30 x0')).toBe('30.0')
    expect(
      pick(
        [
          { n: 2, value: 1 },
          { n: 2, value: 1 },
        ],
        '10 x1',
        '20 x1',
        '30',
        '40',
      ),
    ).toBe('30.0')
  })
})

describe('leastLoadedRank', () => {
  const pick = (draws: readonly Draw[], ...texts: string[]): string =>
    pickOf(rows('5 x0', ...texts), draws, (view) => leastLoadedRank(view, 1, texts.length + 1, random))

  it('takes the rank with the fewest reservations, of the worker alone', () => {
    expect(pick([], '10.0 x2', '10.1 x1', '10.2 x3')).toBe('10.1')
    expect(pick([{ n: 2, value: 0 }], '10.0 x1', '10.1 x1', '10.2 x2')).toBe('10.1')
    expect(pick([{ n: 2, value: 1 }], '10.0 x1', '10.1 x1')).toBe('10.0')
  })
})

describe('betterWorkerOfTwo', () => {
  const pick = (draws: readonly Draw[], ...texts: string[]): string =>
    pickOf(rows(...texts), draws, (view) => betterWorkerOfTwo(view, random))

  it('draws two different workers and takes the less loaded one', () => {
    const draws = [
      { n: 4, value: 1 },
      { n: 3, value: 1 },
    ]
    expect(pick(draws, '10', '20 x5', '30', '40 x1')).toBe('40.0')
    expect(pick(draws, '10', '20 x3', '30', '40.0 x1', '40.1 x2')).toBe('20.0')
  })

  it('goes round', () => {
    const draws = [
      { n: 3, value: 2 },
      { n: 2, value: 1 },
    ]
    expect(pick(draws, '10', '20', '30 x1')).toBe('20.0')
  })

  it('asks once for a single worker', () => {
    expect(pick([{ n: 1, value: 0 }], '10.0 x9', '10.1 x1')).toBe('10.0')
  })
})

describe('betterRankOfTwo', () => {
  const pick = (draws: readonly Draw[], ...texts: string[]): string =>
    pickOf(rows('5', ...texts), draws, (view) => betterRankOfTwo(view, 1, texts.length + 1, random))

  it('is the same among ranks', () => {
    const draws = [
      { n: 3, value: 2 },
      { n: 2, value: 0 },
    ]
    expect(pick(draws, '10.0 x1', '10.1 x0', '10.2 x2')).toBe('10.0')
    expect(pick(draws, '10.0 x2', '10.1 x0', '10.2 x2')).toBe('10.2')
  })
})

describe('allowedCpuReservations', () => {
  it.each([
    [56, 2, 2, 8, 7],
    [7, 1, 1, 8, 0],
    [8, 1, 1, 8, 1],
    [5, 1, 2, 1.5, 6],
    [0, 3, 1, 1, 0],
  ])('%d on %d accelerators, %d CPU workers, ratio %d: %d', (total, accelerators, cpus, ratio, allowed) => {
    expect(allowedCpuReservations(total, accelerators, cpus, ratio)).toBe(allowed)
  })
})

describe('pickByDevice', () => {
  const pick = (all: readonly HandMadeRow[], draws: readonly Draw[] = [], hits = 0, ratio = 8): string =>
    pickOf(all, draws, (view) => pickByDevice(view, hits, ratio, random))

  it('takes CPU workers while they hold fewer than their share', () => {
    const accelerators = rows('30 x16', '40 x40')
    expect(pick([cpu('10 x3'), cpu('20 x4'), ...accelerators])).toBe('30.0')
    expect(pick([cpu('10 x2'), cpu('20 x4'), ...accelerators])).toBe('10.0')
    expect(pick([cpu('10 x2'), cpu('20 x4'), ...accelerators], [], 0, 10)).toBe('30.0')
  })

  it('takes the only kind there is', () => {
    expect(pick([cpu('10 x3'), cpu('20 x1')])).toBe('20.0')
    expect(pick(rows('10 x3', '20 x1'))).toBe('20.0')
  })

  it('takes a full hit, however loaded, the least loaded of them', () => {
    const all = [row('10'), row('20 x5', { cacheHits: 2 }), cpu('30 x4', { cacheHits: 3 })]
    expect(pick(all, [], 2)).toBe('30.0')
    expect(pick(all, [], 3)).toBe('30.0')
    expect(pick(all, [], 4)).toBe('10.0')
    expect(pick(all, [], 0)).toBe('10.0')
  })

  it('draws for the kind of a worker first, then among full hits', () => {
    const hit = { cacheHits: 1 }
    const all = [cpu('10', hit), row('20', hit), cpu('30', hit), row('40', hit)]
    const draws = [
      { n: 2, value: 0 },
      { n: 2, value: 1 },
      { n: 3, value: 0 },
      { n: 2, value: 1 },
      { n: 4, value: 1 },
    ]
    // Worker 20: full hit. Worker 30: its kind, full hit. Worker 40: its kind, full hit.
    const [cpuTie, twenty, thirty, kind, forty] = draws
    expect(pick(all, [twenty!, cpuTie!, thirty!, kind!, forty!], 1)).toBe('30.0')
  })

  it('draws among CPU workers, and among accelerators', () => {
    const busy = [row('30 x16'), row('40 x40')]
    expect(pick([cpu('10 x3'), cpu('20 x3'), ...busy], [{ n: 2, value: 0 }])).toBe('20.0')
    expect(pick([cpu('10 x3'), cpu('20 x3'), ...busy], [{ n: 2, value: 1 }])).toBe('10.0')
    expect(pick(rows('10 x3', '20 x3'), [{ n: 2, value: 0 }])).toBe('20.0')
    expect(pick(rows('10 x3', '20 x3'), [{ n: 2, value: 1 }])).toBe('10.0')
  })

  it('knows a worker by its lowest rank, and its load by all', () => {
    const mixed = [
      cpu('10.0 x1', { cacheHits: 1 }),
      row('10.1 x1', { cacheHits: 0 }),
      row('20.0 x1'),
      cpu('20.1 x2', { cacheHits: 1 }),
      row('30 x4'),
    ]
    expect(pick(mixed, [], 1)).toBe('10.0')
    // 7 on two accelerators, 2 on one CPU worker: allowed floor(7 / (2 x ratio)).
    expect(pick(mixed, [], 0, 1)).toBe('10.0')
    expect(pick(mixed, [], 0, 2)).toBe('20.0')
  })
})
