import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EngineSimError, type PassSink, VllmEngine } from '../src/index.js'
import { letter, parameters, requestsOf, settings, workload } from './support/arbitrary.js'
import { Recorder, type Told, keys, play } from './support/timeline.js'

/** An engine with requests A, B, ... of 8 tokens and some outputs, that starts and finishes passes. */
function started(outputs: readonly number[], parameters = {}) {
  const engine = new VllmEngine({ block_size: 4, num_gpu_blocks: 8, ...parameters })
  const recorder = new Recorder()
  const [a = -1, b = -1] = outputs.map((outputTokens, index) => {
    const request = engine.submit({ promptTokens: 8, outputTokens, blockKeys: keys(10 * index + 1) })
    recorder.letters.set(request, letter(index))
    return request
  })
  let nowMs = 0
  const start = (): number | undefined => {
    const before = nowMs
    nowMs = engine.startPass(nowMs)?.endMs ?? nowMs
    return engine.isPassOpen ? nowMs - before : undefined
  }
  const finish = (): string[] => {
    recorder.events = []
    engine.finishPass(recorder)
    return recorder.events.filter((event) => !event.startsWith('stored'))
  }
  return { engine, recorder, a, b, start, finish }
}

describe('a request that is cancelled', () => {
  it('while it waits and nobody works: a pass of no time tells it', () => {
    const { engine, a, start, finish } = started([3])
    engine.cancel(a)
    engine.cancel(a)
    expect([engine.waitingRequests, start(), finish()]).toEqual([0, 0, ['ended A cancelled']])
    expect([start(), engine.namedBlocks]).toEqual([undefined, 0])
    expect(engine.submit({ promptTokens: 1, outputTokens: 1 })).toBe(a)
  })

  it('while it waits in a pass: the next is not kept waiting', () => {
    const { engine, b, start, finish } = started([3, 3], { max_num_seqs: 1 })
    start()
    engine.cancel(b)
    expect(finish()).toEqual(['admitted A 0', 'ended B cancelled', 'token A1'])
  })

  it('while it runs in a pass: it gives no token, and its blocks when the pass is over', () => {
    const { engine, a, start, finish } = started([3, 3])
    start()
    finish()
    start()
    engine.cancel(a)
    engine.cancel(a)
    expect([engine.runningRequests, engine.activeBlocks]).toEqual([2, 6])
    expect(finish()).toEqual(['ended A cancelled', 'token B2'])
    expect([engine.runningRequests, engine.activeBlocks, engine.inactiveBlocks]).toEqual([1, 3, 2])
  })

  it('in the pass that would end it: it is cancelled, without output too', () => {
    const { engine, a, b, start, finish } = started([1, 0])
    start()
    engine.cancel(a)
    engine.cancel(b)
    expect(finish()).toEqual(['admitted A 0', 'admitted B 0', 'ended A cancelled', 'ended B cancelled'])
    expect([engine.runningRequests, engine.activeBlocks, start()]).toEqual([0, 0, undefined])
  })

  it('between two passes: it leaves at once, and the next pass tells it', () => {
    const { engine, a, start, finish } = started([3, 3])
    start()
    finish()
    engine.cancel(a)
    expect([engine.runningRequests, engine.activeBlocks]).toEqual([1, 2])
    expect(start()).toBeGreaterThan(0)
    expect(finish()).toEqual(['ended A cancelled', 'token B2'])
  })

  it('when the pass rejects it: that is what is told', () => {
    const { engine, a, start, finish } = started([1], { max_model_len: 8 })
    start()
    engine.cancel(a)
    expect([finish(), start()]).toEqual([['ended A prompt_exceeds_model_len'], undefined])
  })

  it('from a sink: what has not been told of it is not told, and the same pass tells the end', () => {
    const { engine, recorder, a, b, start, finish } = started([3, 3])
    const { token, ended } = recorder
    recorder.token = (request, ordinal) => {
      token(request, ordinal)
      engine.cancel(a)
      engine.cancel(b)
    }
    recorder.ended = (request, reason) => {
      ended(request, reason)
      // Its number is its own until the pass is finished.
      engine.cancel(request)
      recorder.letters.set(engine.submit({ promptTokens: 1, outputTokens: 1 }), 'C')
    }
    start()
    expect(finish()).toEqual([
      'admitted A 0',
      'admitted B 0',
      'token A1',
      'ended A cancelled',
      'ended B cancelled',
    ])
    expect([engine.runningRequests, engine.waitingRequests, engine.activeBlocks]).toEqual([0, 2, 0])
  })

  it('from a sink that is told its end: nothing more is told', () => {
    const { engine, recorder, a, start, finish } = started([1])
    const { token } = recorder
    recorder.token = (request, ordinal) => {
      token(request, ordinal)
      engine.cancel(a)
    }
    start()
    expect([finish(), start()]).toEqual([['admitted A 0', 'token A1', 'ended A completed'], undefined])
  })

  it.each([1, -1, 0.5, Number.NaN, 2 ** 40])('a number that no request has: %d', (request) => {
    const { engine, start, finish } = started([1])
    const cancel = (number: number) => (): void => engine.cancel(number)
    expect(cancel(request)).toThrow(expect.objectContaining({ code: 'ENGINE_SIM_REQUEST_INVALID' }))
    start()
    finish()
    expect(cancel(0)).toThrow(EngineSimError)
  })
})

describe('any workload with cancellations', () => {
  const cancellations = fc.array(
    fc.record({
      pass: fc.nat(12),
      request: fc.nat(11),
      when: fc.constantFrom('between passes', 'in a pass', 'told'),
    }),
    { minLength: 1, maxLength: 8 },
  )

  it('conserves blocks, and each request ends once and gives no token from then on', () => {
    let cancelled = 0
    fc.assert(
      fc.property(parameters, workload, cancellations, (engineParameters, drafts, plan) => {
        const engine = new VllmEngine(engineParameters)
        const live = new Map<number, string>()
        const gaveUp = new Set<string>()
        const late = new Set<string>()
        const ended: string[] = []
        let pass = 0
        const cancel = (when: (typeof plan)[number]['when']): void => {
          for (const step of plan)
            for (const [request, name] of live)
              if (step.pass === pass && step.when === when && letter(step.request) === name) {
                engine.cancel(request)
                gaveUp.add(name)
              }
        }
        const sink: PassSink = {
          admitted: () => cancel('told'),
          preempted: (request) => expect(live.has(request)).toBe(true),
          stored: (_block, request) => expect(live.has(request)).toBe(true),
          removed: () => undefined,
          token: (request) => void (gaveUp.has(live.get(request)!) && late.add(live.get(request)!)),
          ended: (request, reason) => {
            const name = live.get(request)!
            ended.push(name)
            live.delete(request)
            if (reason === 'cancelled') cancelled++
            // One that was over when it was cancelled.
            if (late.has(name)) expect(reason).toBe('completed')
            if (!gaveUp.has(name)) expect(reason).not.toBe('cancelled')
          },
        }
        const requests = requestsOf(drafts, engineParameters.block_size!)
        for (const [index, request] of requests.entries()) live.set(engine.submit(request), letter(index))
        let nowMs = 0
        for (; pass < 20_000; pass++) {
          cancel('between passes')
          const started = engine.startPass(nowMs)
          if (started === undefined) break
          nowMs = started.endMs
          cancel('in a pass')
          engine.finishPass(sink)
          expect(engine.activeBlocks + engine.inactiveBlocks).toBeLessThanOrEqual(engine.settings.poolBlocks)
          if (engine.runningRequests === 0) expect(engine.activeBlocks).toBe(0)
        }
        expect(ended.toSorted()).toEqual(requests.map((_, index) => letter(index)).toSorted())
        expect([engine.waitingRequests, engine.runningRequests]).toEqual([0, 0])
        expect(engine.namedBlocks).toBeLessThanOrEqual(engine.inactiveBlocks)
      }),
      settings,
    )
    expect(cancelled).toBeGreaterThan(100)
  })

  it('is for the others as if the request had ended with this pass', () => {
    let compared = 0
    fc.assert(
      fc.property(
        parameters,
        workload,
        fc.nat(11),
        fc.integer({ min: 1, max: 8 }),
        (engine, drafts, index, last) => {
          const requests = requestsOf(drafts, engine.block_size!)
          const name = letter(index)
          const asked = requests[index]?.outputTokens ?? 0
          if (asked < last) return
          const ends = play(engine, requests.with(index, { ...requests[index]!, outputTokens: last }))
          const lastPass = ends.findIndex(({ events }) => events.includes(`token ${name}${last}`))
          if (lastPass === -1) return
          let pass = 0
          const cancels = play(engine, requests, {
            inPass: (state, numberOf) => void (pass++ === lastPass && state.cancel(numberOf(name))),
          })
          const others = (told: readonly Told[]): Told[] =>
            told.map(({ endMs, events }) => ({
              endMs,
              events: events.filter((event) => !event.startsWith('ended') || event.split(' ')[1] !== name),
            }))
          const expected = others(ends)
          expected[lastPass] = {
            ...expected[lastPass]!,
            events: expected[lastPass]!.events.filter((event) => event !== `token ${name}${last}`),
          }
          expect(others(cancels)).toEqual(expected)
          compared++
        },
      ),
      settings,
    )
    expect(compared).toBeGreaterThan(30)
  })
})
