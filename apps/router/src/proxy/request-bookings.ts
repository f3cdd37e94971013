import type { HashedPrompt, RoutedExplanation } from '@router/core'
import type { PromptReading } from '@router/prompt'
import type { FleetPartition } from '../fleet/fleet-partition.js'
import type { Placement, RequestTerms } from '../fleet/fleet-request.js'
import type { Fleet } from '../fleet/fleet.js'
import type { OnExplained } from '../observe/decision-records.js'
import type { ProxyState } from './proxy-state.js'
import type { RequestIntake } from './request-intake.js'

/** Where a request may go beside what its policy says. */
type Terms = { -readonly [Key in keyof RequestTerms]: RequestTerms[Key] }

/**
 * The bookings of one request, one after another: each try has its own, which is freed before the next. What it is booked on are blocks,
 * content chunks, or both (host.md 9.1, 14.2), with the load of all its prompts.
 */
export class RequestBookings {
  readonly partition: FleetPartition
  readonly #fleet: Fleet
  readonly #prompt: HashedPrompt
  readonly #terms: Terms
  readonly #pin: { readonly workerId: bigint | undefined; readonly dpRank: number | undefined }
  /** Workers that it may go to; absent = all of the partition. */
  readonly #allowed: readonly bigint[] | undefined
  readonly #onExplained: OnExplained | undefined
  readonly #innerId: string
  readonly #tried = new Set<bigint>()
  #tries = 0
  #bookingId: string | undefined
  // Tokens from which on the books have something to hear.
  #nextTold = 1

  constructor(
    { fleet, reader, owners, nextInnerId }: ProxyState,
    intake: RequestIntake,
    reading: PromptReading,
    onExplained?: OnExplained,
  ) {
    const { facts, model, partition } = intake
    const { blocks, chunks, allTokens, exactness, body } = reading
    const { previousResponseId } = body
    const owner = previousResponseId === undefined ? undefined : owners.get(previousResponseId)
    // Whoever has left holds nothing any more: what is not known of its responses is for an engine to say.
    const holder = owner !== undefined && partition.has(owner) ? owner : undefined
    this.partition = partition
    this.#fleet = fleet
    this.#onExplained = onExplained
    this.#innerId = nextInnerId()
    this.#pin = facts
    const named = facts.workerId ?? holder
    this.#allowed = named !== undefined ? [named] : withRank(partition, facts.dpRank, model.workerIds)
    this.#prompt = { blocks, promptTokens: allTokens, loraName: model.loraName }
    this.#terms = {
      policyClass: facts.policyClass,
      priorityJump: facts.priorityJump,
      strictPriority: facts.strictPriority,
      expectedOutputTokens: expectedOutput(facts, body),
      chunks: chunks && {
        hashes: chunks,
        overlapBlocks: (matched) => reader.overlapBlocks(reading, matched),
      },
      isUnhashed: exactness === 'nothing',
      affinityTarget: facts.workerId === undefined ? undefined : { workerId: facts.workerId },
      allowedWorkerIds: undefined,
      pinnedWorker: undefined,
    }
  }

  /** Books it on a rank of a worker that was not tried. Errors: those of `Fleet.reserve`. */
  reserve(): Placement {
    const { workerId, dpRank } = this.#pin
    if (workerId !== undefined && dpRank !== undefined && this.#tried.size === 0)
      return this.#book({ workerId, dpRank }, this.#allowed)
    const selection = this.#book(undefined, this.#untried())
    if (dpRank === undefined || selection.dpRank === dpRank) return selection
    // A rank of whichever worker: of the one that was chosen among those that have it.
    this.free()
    return this.#book({ workerId: selection.workerId, dpRank }, undefined)
  }

  /** Takes apart where it would go first. A query. Errors: those of `Fleet.explain`. */
  explain(): RoutedExplanation {
    const { workerId, dpRank } = this.#pin
    const terms = this.#terms
    terms.pinnedWorker = workerId !== undefined && dpRank !== undefined ? { workerId, dpRank } : undefined
    terms.allowedWorkerIds = this.#untried()
    return this.#fleet.explain(this.partition.name, { prompt: this.#prompt, terms })
  }

  /** Books it where it was before. Errors: those of `Fleet.reserve`. */
  reserveAgain({ workerId, dpRank }: Placement): Placement {
    return this.#book({ workerId, dpRank }, undefined)
  }

  /** A worker is out of the question from now on. */
  exclude(workerId: bigint): void {
    this.#tried.add(workerId)
  }

  /** Whether there are workers that were not tried. */
  get hasOthers(): boolean {
    const others = this.#untried()
    return others === undefined || others.length > 0
  }

  /** The request went out: from now on its rank is believed to hold its prompt. */
  dispatched(): void {
    const { router } = this.partition
    if (this.#bookingId !== undefined)
      router.noteDispatched(this.#bookingId, this.#prompt.blocks, this.#terms.chunks?.hashes)
  }

  /** So many tokens came so far; with the first one its prefill is over. */
  progressed(tokens: number): void {
    if (tokens < this.#nextTold || this.#bookingId === undefined) return
    const { router } = this.partition
    if (this.#nextTold === 1) router.markPrefillCompleted(this.#bookingId)
    router.noteOutput(this.#bookingId, tokens)
    const { promptTokens } = this.#prompt
    const { blockSize } = router
    // The next one that begins a block.
    this.#nextTold = Math.ceil((promptTokens + tokens) / blockSize) * blockSize - promptTokens + 1
  }

  /** Frees what is booked; again is fine. */
  free(): void {
    const id = this.#bookingId
    this.#bookingId = undefined
    this.#nextTold = 1
    if (id !== undefined) this.partition.router.free(id)
  }

  #book(pinnedWorker: RequestTerms['pinnedWorker'], allowed: readonly bigint[] | undefined): Placement {
    const requestId = `${this.#innerId}.${this.#tries++}`
    const terms = this.#terms
    terms.pinnedWorker = pinnedWorker
    terms.allowedWorkerIds = allowed
    const booking = { requestId, isRelayed: true, isDispatched: false, onExplained: this.#onExplained }
    const selection = this.#fleet.place(this.partition.name, { prompt: this.#prompt, terms }, booking)
    this.#bookingId = requestId
    return selection
  }

  #untried(): readonly bigint[] | undefined {
    if (this.#tried.size === 0) return this.#allowed
    const { workers } = this.partition.router.partition.table
    const all = this.#allowed ?? workers.map(({ workerId }) => workerId)
    return all.filter((workerId) => !this.#tried.has(workerId))
  }
}

/** Workers of a list that have a rank; without a list, of all. A rank that nobody has narrows nothing: it is refused where it is booked. */
function withRank(
  partition: FleetPartition,
  dpRank: number | undefined,
  allowed: readonly bigint[] | undefined,
): readonly bigint[] | undefined {
  if (dpRank === undefined) return allowed
  const having = partition.router.partition.table.workers
    .filter(
      ({ dataParallelStartRank: first, dataParallelSize }) =>
        dpRank >= first && dpRank < first + dataParallelSize,
    )
    .map(({ workerId }) => workerId)
    .filter((workerId) => allowed?.includes(workerId) ?? true)
  return having.length === 0 ? allowed : having
}

/** Of all sequences together, like what is told of the output; absent = nobody says. */
function expectedOutput(
  { expectedOutputTokens: each }: RequestIntake['facts'],
  { decodes, prompts }: PromptReading['body'],
): number | undefined {
  return each === undefined ? undefined : Math.min(each * decodes * prompts, Number.MAX_SAFE_INTEGER)
}
