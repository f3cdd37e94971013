import { RouterError } from '@router/sdk'
import { expect } from 'vitest'
import { type BookingExpiry, BookingBudget } from '../../src/index.js'
import type { LedgerCommand } from './ledger-commands.js'
import { type LedgerHost, hashesOfPath, ledgerHost } from './ledgers.js'
import { NaiveLedger } from './naive-ledger.js'

const limit = 10

/** Applies commands to a ledger and to the slow one, and compares all that can be seen after each. */
export class LedgerModel {
  readonly #host: LedgerHost
  readonly #slow: NaiveLedger

  constructor(expiry: BookingExpiry, webAssembly: boolean) {
    this.#slow = new NaiveLedger(expiry, limit)
    this.#host = ledgerHost({
      workers: [],
      expiry,
      webAssembly,
      budget: new BookingBudget(limit),
      modelsPrefillTime: true,
    })
    this.#upsert(1n, 0, 2)
    this.#upsert(2n, 0, 1)
  }

  run(commands: readonly LedgerCommand[]): void {
    for (const command of commands) {
      expect(this.#apply(command), JSON.stringify(command, printBigints)).toEqual(this.#applySlow(command))
      this.#compare()
    }
    this.#end()
  }

  #apply(command: LedgerCommand): unknown {
    const { ledger, table, clock, slot } = this.#host
    switch (command.kind) {
      case 'add':
        return outcomeOf(() =>
          ledger.add({
            requestId: command.id,
            slot: slot(command.rank),
            hashes: command.path === undefined ? undefined : hashesOfPath(command.path),
            prefillTokens: command.tokens,
            tracksPrefillTokens: command.tracks,
            prefillDurationMs: command.durationMs,
            lora: command.lora,
            isRelayed: command.isRelayed,
          }),
        )
      case 'complete':
        return ledger.markPrefillCompleted(command.id)
      case 'free':
        return ledger.free(command.id)
      case 'touch':
        return ledger.touch(command.id)
      case 'relayed':
        return ledger.setRelayed(command.id, command.isRelayed)
      case 'output':
        return outcomeOf(() => ledger.addOutputBlock(command.id, command.fraction))
      case 'dropRank':
        return ledger.dropRank(slot(command.rank))
      case 'restart':
        return ledger.dropWorker(command.workerId)
      case 'upsert':
        return this.#upsert(command.workerId, command.start, command.size)
      case 'remove':
        this.#slow.setRanks(command.workerId, 0, 0, clock.ms)
        return void table.removeWorker(command.workerId)
      case 'overload':
        return table.setOverloadedWorkers([command.workerId])
      case 'refresh':
        // Often enough that a dense copy beside the columns comes into use.
        for (let selection = 0; selection < 6; selection++) {
          table.settle()
          table.eligible.refresh()
        }
        return undefined
      case 'advance':
        clock.ms += command.ms
        return undefined
      case 'sweep':
        return ledger.sweep()
      case 'probe':
        return this.#probe(command.path)
    }
  }

  #applySlow(command: LedgerCommand): unknown {
    const slow = this.#slow
    const nowMs = this.#host.clock.ms
    switch (command.kind) {
      case 'add': {
        const { id, rank, path = [], tokens, tracks, durationMs, lora, isRelayed } = command
        return slow.add(
          id,
          rank,
          path,
          { tokens: tracks ? tokens : 0, durationMs },
          { lora, isRelayed },
          nowMs,
        )
      }
      case 'complete':
        return slow.complete(command.id, nowMs)
      case 'free':
        return slow.free(command.id, nowMs)
      case 'touch':
        return slow.touch(command.id, nowMs)
      case 'relayed':
        return slow.setRelayed(command.id, command.isRelayed, nowMs)
      case 'output':
        return slow.output(command.id, command.fraction, nowMs)
      case 'dropRank':
        return slow.dropRank(command.rank, nowMs)
      case 'restart':
        return [...slow.ranks.keys()]
          .filter((rank) => rank.startsWith(`${command.workerId}.`))
          .reduce((sum, rank) => sum + slow.dropRank(rank, nowMs), 0)
      case 'sweep':
        return slow.sweep(nowMs)
      case 'probe':
        return Object.fromEntries(
          [...slow.ranks.keys()].map((rank) => {
            const { activeBlocks, activePrefillTokens, activeRequests, modeledRemainingMs } = slow.load(
              rank,
              nowMs,
            )
            const cost = activeBlocks + slow.additionalBlocks(rank, command.path)
            return [rank, [activePrefillTokens, cost, activeRequests, modeledRemainingMs ?? Number.NaN]]
          }),
        )
      default:
        return undefined
    }
  }

  /** The columns of every rank, and those of the dense copy where they are kept. */
  #probe(path: readonly number[]): unknown {
    const { ledger, table } = this.#host
    ledger.project(hashesOfPath(path))
    const { eligible } = table
    const of = (columns: typeof table.columns, row: number): number[] => {
      const { activePrefillTokens, decodeCostBlocks, activeRequests, isAvailable } = columns.views.load!
      expect(isAvailable[row]).toBe(1)
      const backlogMs = columns.views.prefillTime!.backlogMs[row]!
      return [activePrefillTokens[row]!, decodeCostBlocks[row]!, activeRequests[row]!, backlogMs]
    }
    expect(table.columns.unknownLoads).toBe(0)
    return Object.fromEntries(
      [...this.#slow.ranks.keys()].map((name) => {
        const row = table.rowOfSlot[this.#host.slot(name)]!
        const dense = eligible.rowOf(row)
        const values = of(table.columns, row)
        if (dense >= 0) expect(of(eligible.columns, dense)).toEqual(values)
        return [name, values]
      }),
    )
  }

  #upsert(workerId: bigint, start: number, size: number): void {
    this.#slow.setRanks(workerId, start, size, this.#host.clock.ms)
    this.#host.table.upsertWorker({ workerId, dataParallelStartRank: start, dataParallelSize: size })
  }

  #compare(): void {
    const { ledger, slot, clock } = this.#host
    const slow = this.#slow
    expect(ledger.audit()).toEqual([])
    expect([ledger.live, ledger.booked, ledger.expired]).toEqual([
      slow.bookings.size,
      slow.booked,
      slow.expired,
    ])
    expect([...ledger.loras].toSorted()).toEqual(slow.loras())
    for (const rank of slow.ranks.keys())
      expect([rank, ledger.loadOf(slot(rank))]).toEqual([rank, slow.load(rank, clock.ms)])
  }

  /** After the last free every count is 0. */
  #end(): void {
    const { ledger } = this.#host
    for (const id of this.#slow.bookings.keys()) ledger.free(id)
    for (const rank of this.#slow.ranks.keys()) {
      expect(ledger.loadOf(this.#host.slot(rank))).toEqual({
        activeBlocks: 0,
        activePrefillTokens: 0,
        activeRequests: 0,
        modeledRemainingMs: 0,
      })
    }
    expect([ledger.live, ledger.budget.live, ledger.loras.size, ledger.audit()]).toEqual([0, 0, 0, []])
  }
}

function outcomeOf(work: () => void): string {
  try {
    work()
    return 'ok'
  } catch (error) {
    if (RouterError.isInstance(error)) return error.code
    throw error
  }
}

function printBigints(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
