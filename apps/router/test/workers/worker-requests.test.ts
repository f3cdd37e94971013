import { describe, expect, it } from 'vitest'
import { silentAmong } from '../../src/workers/silent-among.js'
import { WorkerHealth } from '../../src/workers/worker-health.js'
import { openFleet, refused, requestTo, settled, vllm } from './support.js'

describe('another process (2.10, E6)', () => {
  it('is found by its start time before it serves again, and nothing is held against it', async () => {
    const kept = openFleet()
    kept.start(1)
    kept.start(2)
    await settled()
    for (let failure = 0; failure < 5; failure++) requestTo(kept, 1, 'failed')
    expect(kept.against(1)).toEqual(['breaker_open', 'inhibited'])
    kept.engines['http://127.0.0.1:9001'] = vllm({ startedAt: 2000 })
    await kept.timers.advance(1000)
    expect([kept.lifecycle(1), kept.against(1)]).toEqual(['schedulable', []])
    expect(kept.warnings.filter(({ code }) => code === 'worker_restarted')).toHaveLength(1)
  })

  it('the same process after a refusal is no other one', async () => {
    const kept = openFleet()
    kept.start(1)
    await settled()
    kept.engines['http://127.0.0.1:9001'] = refused
    await kept.timers.advance(5000)
    expect(kept.against(1)).toEqual(['inhibited'])
    kept.engines['http://127.0.0.1:9001'] = vllm()
    await kept.timers.advance(1000)
    kept.fleet.tick()
    await kept.timers.advance(10_000)
    kept.fleet.tick()
    expect(kept.warnings.filter(({ code }) => code === 'worker_restarted')).toEqual([])
    expect(kept.lifecycle(1)).toBe('schedulable')
  })

  it.each(['request', 'probe'])(
    'without a start time, a refused %s counts 5 s after it ended',
    async (who) => {
      const kept = openFleet()
      const engine = { '/health': '', '/v1/models': '{"data":[{"id":"llama"}]}' }
      kept.start(1, engine)
      await settled()
      if (who === 'request') requestTo(kept, 1, 'refused')
      else {
        kept.engines['http://127.0.0.1:9001'] = refused
        await kept.timers.advance(5000)
        kept.engines['http://127.0.0.1:9001'] = engine
      }
      await kept.timers.advance(1000)
      expect(kept.lifecycle(1)).toBe('schedulable')
      const restarts = () => kept.warnings.filter(({ code }) => code === 'worker_restarted').length
      kept.fleet.tick()
      expect(restarts()).toBe(0)
      await kept.timers.advance(5000)
      kept.fleet.tick()
      expect(restarts()).toBe(1)
    },
  )

  it('is looked for every 15 s even when nothing seems wrong, and its sizes are read again', async () => {
    const kept = openFleet()
    kept.start(1)
    await settled()
    kept.engines['http://127.0.0.1:9001'] = {
      ...vllm({ startedAt: 2000 }),
      '/v1/models': '{"data":[{"id":"qwen"}]}',
    }
    await kept.timers.advance(14_999)
    expect(kept.workers.get(1n)!.registration.modelName).toBe('llama')
    await kept.timers.advance(1)
    expect(kept.workers.get(1n)!.registration.modelName).toBe('qwen')
    expect(kept.warnings.map(({ code }) => code)).toContain('worker_restarted')
  })
})

describe('requests', () => {
  it('that fail keep a worker out for 5 s, on exactly this clock (U33)', async () => {
    const kept = openFleet()
    kept.start(1)
    kept.start(2)
    await settled()
    requestTo(kept, 1, 503)
    expect(kept.against(1)).toEqual(['inhibited'])
    const { timers } = kept
    await timers.advance(4999)
    expect(kept.lifecycle(1)).toBe('unschedulable')
    await timers.advance(1)
    expect([kept.lifecycle(1), kept.against(1)]).toEqual(['schedulable', []])
  })

  it('that are refused keep it out until a probe succeeds, and the next probe is due in a second', async () => {
    const kept = openFleet()
    kept.start(1)
    kept.start(2)
    await kept.timers.advance(1500)
    requestTo(kept, 1, 'refused')
    kept.engines['http://127.0.0.1:9001'] = refused
    const before = kept.askedFor('9001/health')
    await kept.timers.advance(60_000)
    expect(kept.askedFor('9001/health') - before).toBe(60)
    expect(kept.against(1)).toContain('inhibited')
    expect(kept.keeper.begin(1n)).toBeUndefined()
    kept.engines['http://127.0.0.1:9001'] = vllm()
    await kept.timers.advance(1000)
    expect(kept.lifecycle(1)).toBe('schedulable')
  })

  it('that fail do not keep the only worker out: nobody is better', async () => {
    const kept = openFleet()
    kept.start(1)
    await settled()
    requestTo(kept, 1, 500)
    expect(kept.lifecycle(1)).toBe('schedulable')
    kept.start(2)
    await settled()
    requestTo(kept, 2, 500)
    expect([kept.lifecycle(1), kept.lifecycle(2)]).toEqual(['schedulable', 'schedulable'])
    // Of another model.
    kept.start(3, vllm({ model: 'other' }))
    await settled()
    requestTo(kept, 1, 500)
    expect([kept.lifecycle(1), kept.lifecycle(2)]).toEqual(['schedulable', 'schedulable'])
  })

  it('that failed keep the only worker out as soon as there is another', async () => {
    const kept = openFleet()
    kept.start(1)
    await settled()
    requestTo(kept, 1, 500)
    expect(kept.lifecycle(1)).toBe('schedulable')
    kept.start(2)
    await settled()
    expect([kept.lifecycle(1), kept.lifecycle(2)]).toEqual(['unschedulable', 'schedulable'])
  })

  it('that fail do not count when the others only drain', async () => {
    const kept = openFleet()
    kept.start(1)
    kept.start(2)
    await settled()
    kept.workers.drain(2n)
    requestTo(kept, 1, 500)
    expect(kept.lifecycle(1)).toBe('schedulable')
  })

  it('an avoided worker is back when the last other one leaves', async () => {
    const kept = openFleet()
    kept.start(1)
    kept.start(2)
    await settled()
    requestTo(kept, 1, 500)
    expect(kept.lifecycle(1)).toBe('unschedulable')
    kept.workers.remove(2n)
    expect(kept.lifecycle(1)).toBe('schedulable')
  })

  it('open the breaker, one at a time tries it, and an answer closes it', async () => {
    const kept = openFleet({ keeper: { probeMs: 1e9, suspectProbeMs: 1e9 } })
    kept.start(1)
    await settled()
    for (let failure = 0; failure < 5; failure++) requestTo(kept, 1, 500)
    expect(kept.against(1)).toEqual(['breaker_open'])
    expect(kept.keeper.begin(1n)).toBeUndefined()
    await kept.timers.advance(2000)
    expect(kept.lifecycle(1)).toBe('schedulable')
    const trial = kept.keeper.begin(1n)!
    expect(kept.lifecycle(1)).toBe('unschedulable')
    trial.byte()
    expect(kept.lifecycle(1)).toBe('schedulable')
  })

  it('to which no byte comes, while others answer, keep a worker out until one does', async () => {
    const kept = openFleet()
    kept.start(1)
    kept.start(2)
    await settled()
    const stuck = kept.keeper.begin(1n)!
    stuck.head(200)
    await kept.timers.advance(9999)
    requestTo(kept, 2, 200)
    expect(kept.lifecycle(1)).toBe('schedulable')
    await kept.timers.advance(1001)
    expect(kept.against(1)).toEqual(['no_progress'])
    stuck.byte()
    expect(kept.lifecycle(1)).toBe('schedulable')
  })

  it('may be as slow as ten times the slow ones of the others', async () => {
    const kept = openFleet()
    kept.start(1)
    kept.start(2)
    await settled()
    const slow = kept.keeper.begin(2n)!
    slow.head(200)
    await kept.timers.advance(3000)
    slow.byte()
    slow.end('answered')
    // Neither its own times count nor those of another model.
    kept.start(3, vllm({ model: 'other' }))
    await settled()
    const slower = [kept.keeper.begin(1n)!, kept.keeper.begin(3n)!]
    for (const attempt of slower) attempt.head(200)
    await kept.timers.advance(9000)
    for (const attempt of slower) {
      attempt.byte()
      attempt.end('answered')
    }
    kept.keeper.begin(1n)
    await kept.timers.advance(29_000)
    expect(kept.lifecycle(1)).toBe('schedulable')
    await kept.timers.advance(2000)
    expect(kept.against(1)).toEqual(['no_progress'])
  })

  it('are compared with those of every other worker, equal times and all', () => {
    const random = (at: number): number => (at * 7919) % 13
    const workers = Array.from({ length: 9 }, (_, id) => {
      const health = new WorkerHealth()
      for (let request = 0; request < id * 3; request++) {
        const attempt = health.begin(0)!
        health.head(attempt, 200, 0)
        health.byte(attempt, random(id * 31 + request))
        health.end(attempt, 'answered', '', 12)
      }
      health.begin(100)
      return { id, health }
    })
    const slowest = ({ id }: { id: number }): number => {
      const times = workers
        .filter((other) => other.id !== id)
        .flatMap(({ health }) => [...health.firstByteMs])
      return times.toSorted((a, b) => a - b)[Math.ceil(0.95 * times.length) - 1]!
    }
    for (const worker of workers) {
      const due = 100 + 10 * slowest(worker)
      const isSilentAt = (nowMs: number): boolean =>
        silentAmong(workers, () => 'm', 1, nowMs).includes(worker)
      expect([isSilentAt(due - 1), isSilentAt(due)], `worker ${worker.id}`).toEqual([false, true])
    }
  })

  it('that wait everywhere keep nobody out', async () => {
    const kept = openFleet()
    kept.start(1)
    kept.start(2)
    await settled()
    kept.keeper.begin(1n)
    kept.keeper.begin(2n)
    await kept.timers.advance(15_000)
    expect([kept.lifecycle(1), kept.lifecycle(2)]).toEqual(['schedulable', 'schedulable'])
  })
})
