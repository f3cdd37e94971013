import { describe, expect, it } from 'vitest'
import type { PromptRequest } from '../src/index.js'
import { believed, cacheRows, hashed, routingHost, told, tokensOf } from './support/routing-hosts.js'

/** A prompt known by its content alone; a letter is a chunk, which stands for half a block. */
function content(word: string, blocks = ''): PromptRequest {
  return {
    blocks: hashed(blocks),
    promptTokens: tokensOf(word).length,
    chunks: { hashes: hashed(word), overlapBlocks: (matched) => Math.floor(matched / 2) },
  }
}

function deviceOf(host: ReturnType<typeof routingHost>, request: PromptRequest) {
  host.router.explain(request)
  const rows = Object.entries(cacheRows(host.router))
  return Object.fromEntries(rows.map(([rank, row]) => [rank, row?.device]))
}

const sendTo = (
  host: ReturnType<typeof routingHost>,
  requestId: string,
  workerId: bigint,
  request: PromptRequest,
) => host.router.reserve({ ...request, requestId, pinnedWorker: { workerId, dpRank: 0 } })

describe('G3: content chunks', () => {
  it('are matched on every rank, with events or without, known or not, beside exact blocks', () => {
    const host = routingHost({ workers: [...told(1, 2), ...believed(3)] })
    host.store('1', 'abcd')
    // Worker 2 has told nothing yet.
    expect(host.device('abcd')).toEqual({ '1.0': 4, '2.0': undefined, '3.0': 0 })
    sendTo(host, 'a', 1n, content('mnopqr'))
    sendTo(host, 'b', 2n, content('mnop'))
    sendTo(host, 'c', 3n, content('mn'))
    expect(deviceOf(host, content('mnopqr'))).toEqual({ '1.0': 3, '2.0': 2, '3.0': 1 })
    expect(deviceOf(host, content('zz'))).toEqual({ '1.0': 0, '2.0': 0, '3.0': 0 })
    // The exact index knows nothing of chunks, and what is unknown of blocks is so again.
    expect(host.device('mnopqr')).toEqual({ '1.0': 0, '2.0': undefined, '3.0': 0 })
    expect(host.device('abcd')).toEqual({ '1.0': 4, '2.0': undefined, '3.0': 0 })
  })

  it('count where they are more than the exact blocks before a media part, rank by rank', () => {
    const host = routingHost()
    host.store('1', 'abc')
    host.store('2', 'a')
    sendTo(host, 'x', 2n, content('mnopqr', 'abc'))
    host.router.free('x')
    sendTo(host, 'y', 1n, content('mn', 'abc'))
    expect(deviceOf(host, content('mnopqr', 'abc'))).toEqual({ '1.0': 3, '2.0': 3, '3.0': 0 })
    expect(deviceOf(host, content('mn', 'ab'))).toEqual({ '1.0': 2, '2.0': 1, '3.0': 0 })
  })

  it('are counted in tokens too, in the copy of eligible ranks as well', () => {
    const host = routingHost()
    host.router.partition.table.setAvailableWorkers([1n, 2n])
    for (let selection = 0; selection < 6; selection++) host.select('zz')
    sendTo(host, 'x', 2n, content('mnop'))
    host.router.free('x')
    for (let selection = 0; selection < 6; selection++) {
      host.router.select(content('mnop'))
      expect(cacheRows(host.router)['2.0']).toMatchObject({ device: 2, blocks: 2, tokens: 8, raw: 2 })
    }
    expect(host.select('zz')).toMatchObject({ effectiveOverlapBlocks: 0 })
    expect(host.router.select(content('mnop'))).toMatchObject({ workerId: 2n, cachedTokens: 8 })
  })

  it('are what the books share blocks by', () => {
    const host = routingHost({ workers: believed(1) })
    sendTo(host, 'x', 1n, content('mnop'))
    sendTo(host, 'y', 1n, content('mnopqr'))
    expect(host.router.ledger.loadOf(host.router.slotOf(1n, 0)).activeBlocks).toBe(6)
  })

  it('enter the index when the request goes out, and never before; a query leaves none', () => {
    const host = routingHost()
    const request = content('mnop')
    host.router.reserve({
      ...request,
      requestId: 'x',
      isDispatched: false,
      pinnedWorker: { workerId: 1n, dpRank: 0 },
    })
    host.router.select(request)
    expect(deviceOf(host, request)['1.0']).toBe(0)
    host.router.noteDispatched('x', request.blocks!, request.chunks!.hashes)
    expect(deviceOf(host, request)['1.0']).toBe(2)
    host.clock.ms = 120_100
    expect(deviceOf(host, request)['1.0']).toBe(0)
  })

  it('go with the process that held them', () => {
    const host = routingHost()
    sendTo(host, 'x', 1n, content('mnop'))
    host.router.restartWorker(1n)
    expect(deviceOf(host, content('mnop'))).toEqual({ '1.0': 0, '2.0': 0, '3.0': 0 })
  })

  it('that are none are refused', () => {
    const host = routingHost()
    const broken = {
      ...content('mn'),
      chunks: { hashes: { ...hashed('mn'), count: 9 }, overlapBlocks: Number },
    }
    expect(() => host.router.select(broken)).toThrow(expect.objectContaining({ code: 'ROUTER_BAD_REQUEST' }))
  })
})

describe('G3: a request of which nothing is hashed', () => {
  it('finds the cache of every rank unknown, and leaves it as it was', () => {
    const host = routingHost()
    host.store('1', 'abc')
    const unhashed: PromptRequest = { blocks: hashed(''), promptTokens: 12, isUnhashed: true }
    expect(deviceOf(host, unhashed)).toEqual({ '1.0': undefined, '2.0': undefined, '3.0': undefined })
    expect(host.router.select(unhashed).cachedTokens).toBe(0)
    expect(host.device('abc')).toEqual({ '1.0': 3, '2.0': 0, '3.0': 0 })
  })
})
