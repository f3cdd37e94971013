import { expect } from 'vitest'
import type { PartitionRouter, RouterCoreConfig, SelectionResult } from '../../src/index.js'
import { codeOf } from './caught.js'
import { nameOf } from './hosts.js'
import { NaiveLedger } from './naive-ledger.js'
import { NaivePrefix } from './naive-prefix.js'
import type { RoutingCommand } from './routing-commands.js'
import {
  type RoutingHost,
  blockSize,
  cacheRows,
  hashed,
  rankOf,
  routingHost,
  tokensOf,
} from './routing-hosts.js'

interface NaiveWorker {
  readonly ranks: readonly string[]
  readonly hasEvents: boolean
  readonly incarnationId: string | undefined
}

interface Sent {
  readonly word: string
  readonly expected: number | undefined
  blocks: number
}

const ttlMs = 1000

/** Prompt without its incomplete last block. */
const blocksOf = (word: string): string => word.replaceAll('.', '')
const pathOf = (word: string): number[] => [...blocksOf(word)].map((letter) => letter.codePointAt(0)!)

/** Applies commands to a router and to slow ones of sets and lists, and compares all that can be seen after each. */
export class RoutingModel {
  readonly #host: RoutingHost
  readonly #router: PartitionRouter
  readonly #prefix: NaivePrefix
  readonly #ledger = new NaiveLedger({ measure: 'idle', afterMs: 300_000 }, Infinity)
  readonly #workers = new Map<bigint, NaiveWorker>()
  readonly #sent = new Map<string, Sent>()
  readonly #config: RouterCoreConfig
  #overloaded: readonly bigint[] = []

  constructor(config: RouterCoreConfig, webAssembly: boolean) {
    this.#config = config
    this.#host = routingHost({ workers: [], webAssembly, config: { ...config, approximate: { ttlMs } } })
    this.#router = this.#host.router
    this.#prefix = new NaivePrefix(ttlMs, config.predictedTtlMs)
    for (const workerId of [1n, 2n]) {
      this.#apply({ kind: 'upsert', workerId, start: 0, size: 2, hasEvents: true, incarnationId: undefined })
    }
  }

  run(commands: readonly RoutingCommand[]): void {
    for (const [step, command] of commands.entries()) {
      this.#apply(command)
      this.#compare('word' in command ? command.word : ['aab', 'aaaabb.', '', 'ba..'][step % 4]!)
    }
    for (const id of this.#sent.keys()) expect(this.#router.free(id)).toBe(this.#ledger.free(id, this.#now))
    expect(this.#router.snapshot()).toMatchObject({
      bookings: 0,
      ranks: this.#loads(() => ({ activeRequests: 0 })),
    })
  }

  get #now(): number {
    return this.#host.clock.ms
  }

  #apply(command: RoutingCommand): void {
    const { router } = this.#host
    switch (command.kind) {
      case 'upsert':
        return this.#upsert(command)
      case 'remove':
        expect(router.removeWorker(command.workerId)).toBe(this.#workers.has(command.workerId))
        this.#leave(command.workerId, [])
        this.#workers.delete(command.workerId)
        return
      case 'restart':
        expect(router.restartWorker(command.workerId)).toBe(this.#workers.has(command.workerId))
        return this.#restart(command.workerId)
      case 'overload':
        router.partition.table.setOverloadedWorkers(command.workerIds)
        this.#overloaded = command.workerIds.filter((workerId) => this.#workers.has(workerId))
        return
      case 'store':
      case 'drop':
      case 'clear':
      case 'known':
        return this.#tell(command)
      case 'reserve':
        return this.#reserve(command)
      case 'dispatch': {
        const sent = this.#sent.get(command.id)
        const rank = this.#ledger.bookings.get(command.id)?.rank
        const blocks = hashed(blocksOf(sent?.word ?? ''))
        expect(router.noteDispatched(command.id, blocks)).toBe(rank !== undefined)
        if (rank !== undefined) this.#prefix.dispatch(rank, blocksOf(sent!.word), this.#now)
        return
      }
      case 'complete':
        expect(router.markPrefillCompleted(command.id)).toBe(this.#ledger.complete(command.id, this.#now))
        return
      case 'free':
        expect(router.free(command.id)).toBe(this.#ledger.free(command.id, this.#now))
        return
      case 'output':
        return this.#output(command.id, command.tokens)
      case 'advance':
        this.#host.clock.ms += command.ms
        return
      case 'tick':
        router.tick()
        this.#ledger.sweep(this.#now)
        return
      case 'calm':
        for (let selection = 0; selection < 6; selection++) router.explain({ tokens: [] })
        return
      case 'ask':
        return
    }
  }

  #upsert({ workerId, start, size, hasEvents, incarnationId }: RoutingCommand & { kind: 'upsert' }): void {
    this.#router.upsertWorker({
      workerId,
      dataParallelStartRank: start,
      dataParallelSize: size,
      hasEvents,
      incarnationId,
    })
    const known = this.#workers.get(workerId)
    const ranks = Array.from({ length: size }, (_, offset) => `${workerId}.${start + offset}`)
    this.#ledger.setRanks(workerId, start, size, this.#now)
    this.#leave(workerId, ranks)
    for (const rank of ranks) {
      if (this.#prefix.ranks.get(rank)?.hasEvents !== hasEvents) this.#prefix.join(rank, hasEvents)
    }
    const last = known?.incarnationId
    this.#workers.set(workerId, { ranks, hasEvents, incarnationId: incarnationId ?? last })
    if (last !== undefined && incarnationId !== undefined && last !== incarnationId) this.#restart(workerId)
    this.#overloadRanks()
  }

  /** Overload is a flag of ranks: those that join are free. */
  #overloadRanks(): void {
    this.#router.partition.table.setOverloadedWorkers(this.#overloaded)
  }

  #leave(workerId: bigint, staying: readonly string[]): void {
    for (const rank of this.#workers.get(workerId)?.ranks ?? []) {
      if (staying.includes(rank)) continue
      this.#prefix.ranks.delete(rank)
      this.#ledger.dropRank(rank, this.#now)
      this.#ledger.ranks.delete(rank)
    }
    if (staying.length === 0) this.#overloaded = this.#overloaded.filter((id) => id !== workerId)
  }

  #restart(workerId: bigint): void {
    for (const rank of this.#workers.get(workerId)?.ranks ?? []) {
      this.#ledger.dropRank(rank, this.#now)
      this.#prefix.join(rank, this.#prefix.ranks.get(rank)!.hasEvents)
    }
  }

  #tell(command: RoutingCommand & { readonly kind: 'store' | 'drop' | 'clear' | 'known' }): void {
    const { rank } = command
    const word = 'word' in command ? blocksOf(command.word) : ''
    const from = command.kind === 'store' ? Math.min(command.from, word.length) : 0
    const holder = this.#prefix.ranks.get(rank)
    const tell = (): unknown => {
      if (command.kind === 'store') return this.#host.store(rank, word, { from, tier: command.tier })
      if (command.kind === 'drop') return word === '' ? 'ok' : this.#host.remove(rank, word, command.tier)
      if (command.kind === 'clear') return this.#host.clear(rank)
      return this.#router.setCacheKnown(...rankOf(rank), command.isKnown)
    }
    if (holder?.hasEvents !== true) {
      if (command.kind === 'drop' && word === '') return
      expect(codeOf(tell)).toBe(holder === undefined ? 'ROUTER_NOT_FOUND' : 'ROUTER_BAD_REQUEST')
      return
    }
    const told = tell()
    if (command.kind === 'store') expect(told).toBe(this.#prefix.store(rank, word, from, command.tier))
    else if (command.kind === 'drop' && word !== '')
      expect(told).toBe(this.#prefix.drop(rank, word, command.tier))
    else if (command.kind === 'clear') this.#prefix.clear(rank)
    else if (command.kind === 'known') holder.isKnown = command.isKnown
  }

  #reserve({ id, word, isDispatched, tracks, expected, pin }: RoutingCommand & { kind: 'reserve' }): void {
    const rest = {
      isDispatched,
      tracksPrefillTokens: tracks,
      expectedOutputTokens: expected,
      ...(pin === undefined ? {} : { pinnedWorker: { workerId: rankOf(pin)[0], dpRank: rankOf(pin)[1] } }),
    }
    const before = this.#router.snapshot()
    const code = this.#refusal(id, pin)
    const costs = this.#costs(word, tracks)
    let asked: SelectionResult | undefined
    if (code === undefined) asked = this.#host.select(word, rest)
    else if (code !== 'ROUTER_DUPLICATE_REQUEST')
      expect(codeOf(() => this.#host.select(word, rest))).toBe(code)
    expect(this.#router.snapshot()).toEqual(before)
    if (code !== undefined) {
      expect(codeOf(() => this.#host.reserve(id, word, rest))).toBe(code)
      expect(this.#router.snapshot()).toEqual(before)
      return
    }
    const result = this.#host.reserve(id, word, rest)
    const rank = nameOf(result)
    expect(nameOf(asked!)).toBe(rank)
    expect(pin === undefined ? this.#cheapest(costs) : [pin]).toContain(rank)
    const cached = this.#cacheRow(rank, word)?.tokens ?? 0
    expect(result.cachedTokens).toBe(cached)
    const promptTokens = tokensOf(word).length
    const tokens = tracks ? Math.max(0, promptTokens - cached) : 0
    const rest2 = { lora: undefined, isRelayed: false }
    expect(
      this.#ledger.add(id, rank, pathOf(word), { tokens, durationMs: undefined }, rest2, this.#now),
    ).toBe('ok')
    this.#sent.set(id, { word, expected, blocks: Math.ceil(promptTokens / blockSize) })
    if (isDispatched) this.#prefix.dispatch(rank, blocksOf(word), this.#now)
  }

  #refusal(id: string, pin: string | undefined): string | undefined {
    if (this.#ledger.bookings.has(id)) return 'ROUTER_DUPLICATE_REQUEST'
    const ranks = [...this.#prefix.ranks.keys()]
    if (pin !== undefined) {
      if (!ranks.includes(pin)) return 'ROUTER_NO_ENDPOINTS'
      return this.#isOverloaded(pin) ? 'ROUTER_PINNED_WORKER_OVERLOADED' : undefined
    }
    if (ranks.some((rank) => !this.#isOverloaded(rank))) return undefined
    return this.#workers.size > 0 ? 'ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED' : 'ROUTER_NO_ENDPOINTS'
  }

  #isOverloaded(rank: string): boolean {
    return this.#overloaded.includes(rankOf(rank)[0])
  }

  #output(id: string, tokens: number): void {
    const isLive = this.#ledger.touch(id, this.#now)
    expect(this.#router.noteOutput(id, tokens)).toBe(isLive)
    if (!isLive || this.#config.tracksOutputBlocks !== true) return
    const sent = this.#sent.get(id)!
    const blocks = Math.ceil((tokensOf(sent.word).length + tokens) / blockSize)
    const fraction = sent.expected === undefined ? undefined : Math.max(0, 1 - tokens / sent.expected)
    for (; sent.blocks < blocks; sent.blocks++) this.#ledger.output(id, fraction, this.#now)
  }

  /** Snapshot, books, columns of a prompt and what follows from them. */
  #compare(word: string): void {
    expect(this.#router.ledger.audit()).toEqual([])
    const before = this.#router.snapshot()
    expect(before).toMatchObject({
      bookings: this.#ledger.bookings.size,
      ranks: this.#loads((rank) => ({
        ...this.#ledger.load(rank, this.#now),
        cachedBlocks: this.#prefix.ranks.get(rank)!.isKnown ? this.#prefix.size(rank, this.#now) : undefined,
      })),
    })
    const costs = this.#costs(word, true)
    const { rows, chosen, error } = this.#router.explain({ tokens: tokensOf(word) })
    expect(rows.map(nameOf)).toEqual(this.#ranks())
    expect(rows.map(({ total }) => total)).toEqual(this.#ranks().map((rank) => costs.get(rank)))
    if (error !== undefined) expect(error.code).toBe(this.#refusal('', undefined))
    else expect(this.#cheapest(costs)).toContain(nameOf(chosen!))
    expect(cacheRows(this.#router)).toEqual(
      Object.fromEntries(this.#ranks().map((rank) => [rank, this.#cacheRow(rank, word)])),
    )
    const loads = this.#router.potentialLoads({ tokens: tokensOf(word) })
    expect(loads).toEqual(this.#ranks().map((rank) => this.#potentialLoad(rank, word)))
    expect(this.#router.snapshot()).toEqual(before)
  }

  #loads<T extends object>(of: (rank: string) => T) {
    return this.#ranks().map((rank) => {
      const [workerId, dpRank] = rankOf(rank)
      const { cachedBlocks, ...load } = of(rank) as { cachedBlocks?: number }
      return { workerId, dpRank, load, ...('cachedBlocks' in of(rank) ? { cachedBlocks } : {}) }
    })
  }

  /** Ranks in canonical order. */
  #ranks(): string[] {
    return [...this.#prefix.ranks.keys()].toSorted((one, other) => {
      const [[a, aRank], [b, bRank]] = [rankOf(one), rankOf(other)]
      return a === b ? aRank - bRank : a < b ? -1 : 1
    })
  }

  #cacheRow(rank: string, word: string) {
    const overlap = this.#prefix.overlap(rank, blocksOf(word), this.#now)
    if (overlap === undefined) return undefined
    const [device, host, disk, external] = overlap
    const blocks = device + 0.75 * host + 0.25 * (disk + external)
    const raw = device + host + disk + external
    return { device, host, disk: disk + external, blocks, tokens: Math.round(blocks * blockSize), raw }
  }

  #potentialLoad(rank: string, word: string) {
    const [workerId, dpRank] = rankOf(rank)
    const load = this.#ledger.load(rank, this.#now)
    const uncached = tokensOf(word).length - (this.#cacheRow(rank, word)?.tokens ?? 0)
    return {
      workerId,
      dpRank,
      potentialPrefillTokens: load.activePrefillTokens + Math.max(0, uncached),
      potentialDecodeBlocks: load.activeBlocks + this.#ledger.additionalBlocks(rank, pathOf(word)),
      activeRequests: load.activeRequests,
    }
  }

  /** The default formula for a request of a whole service, of the ranks that may be chosen. */
  #costs(word: string, tracks: boolean): Map<string, number> {
    const ranks = this.#ranks().filter((rank) => !this.#isOverloaded(rank))
    return new Map(
      ranks.map((rank) => {
        const { device, host, disk, tokens } = this.#cacheRow(rank, word) ?? {
          device: 0,
          host: 0,
          disk: 0,
          tokens: 0,
        }
        const load = this.#ledger.load(rank, this.#now)
        const credit = device + 0.75 * host + 0.25 * disk
        const decode = load.activeBlocks + this.#ledger.additionalBlocks(rank, pathOf(word))
        // Without prefill to save, what is cached saves decode blocks.
        if (!tracks) return [rank, Math.max(0, decode - credit)]
        const prefill = load.activePrefillTokens + Math.max(0, tokensOf(word).length - tokens) + tokens
        return [rank, Math.max(0, prefill / blockSize - credit) + decode]
      }),
    )
  }

  #cheapest(costs: ReadonlyMap<string, number>): string[] {
    const least = Math.min(...costs.values())
    return [...costs].filter(([, cost]) => cost === least).map(([rank]) => rank)
  }
}
