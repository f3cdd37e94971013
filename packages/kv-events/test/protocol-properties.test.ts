import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SequenceWorld } from './support/sequence-world.js'

const few = fc.integer({ min: 1, max: 4 })

/** One thing that happens. */
const happening = fc.oneof(
  { weight: 6, arbitrary: fc.record({ what: fc.constant('publish' as const), count: few, flag: rarely() }) },
  { weight: 6, arbitrary: fc.record({ what: fc.constant('deliver' as const), count: few, flag: rarely() }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('lose' as const), count: few, flag: rarely() }) },
  { weight: 4, arbitrary: fc.record({ what: fc.constant('answer' as const), count: few, flag: rarely() }) },
  {
    weight: 6,
    arbitrary: fc.record({ what: fc.constant('deliverReplies' as const), count: few, flag: rarely() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constantFrom(
        'disconnect' as const,
        'connect' as const,
        'restart' as const,
        'proofExpires' as const,
      ),
      count: few,
      flag: rarely(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('pass' as const),
      count: fc.constantFrom(1, 700, 5000, 31_000),
      flag: rarely(),
    }),
  },
)

function rarely() {
  return fc.integer({ min: 0, max: 29 }).map((value) => value === 29)
}

const worlds = fc.record({
  hasReplay: fc.boolean(),
  kept: fc.constantFrom(0, 2, 10, 1000),
  maxBufferedBatches: fc.constantFrom(2, 5, 1000),
})

function play(
  world: SequenceWorld,
  { what, count, flag }: { what: string; count: number; flag: boolean },
): void {
  switch (what) {
    case 'publish':
      return world.publish(count, flag)
    case 'deliver':
      return world.deliver(count, flag)
    case 'lose':
      return world.lose(count)
    case 'answer':
      return world.answer()
    case 'deliverReplies':
      return world.deliverReplies(count)
    case 'disconnect':
      return world.disconnect()
    case 'connect':
      return world.connect()
    case 'restart':
      return world.restart(count - 1)
    case 'proofExpires':
      return world.proofExpires()
    default:
      return world.pass(count)
  }
}

describe('whatever is lost, late, replayed or restarted', () => {
  it('batches are applied in order, once an incarnation, and a claim to be complete is true', () => {
    let claims = 0
    let restarts = 0
    fc.assert(
      fc.property(worlds, fc.array(happening, { maxLength: 120, size: 'max' }), (options, happenings) => {
        const world = new SequenceWorld(options)
        world.connect()
        for (const one of happenings) {
          play(world, one)
          if (world.machine.state === 'live' && world.held.length > 3) claims++
        }
        restarts += world.restarts
      }),
      { seed: 4, numRuns: 3000 },
    )
    expect([claims > 1000, restarts > 100]).toEqual([true, true])
  })

  it('with a replay socket that keeps everything, all is complete again once the network is calm', () => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 60, size: 'max' }), (happenings) => {
        const world = new SequenceWorld({ hasReplay: true, kept: 100_000, maxBufferedBatches: 100_000 })
        world.connect()
        // Without what is lost for good: batches that are none, answers that come too late, and what is lost behind an answer.
        const isForGood = ({ what }: { what: string }) =>
          what === 'pass' || (what === 'lose' && world.isAnswering)
        for (const one of happenings) if (!isForGood(one)) play(world, { ...one, flag: false })
        world.settle()
        expect([world.machine.state, world.holdsAll]).toEqual(['live', true])
      }),
      { seed: 5, numRuns: 1000 },
    )
  })
})
