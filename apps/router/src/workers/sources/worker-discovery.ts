import { lookup } from 'node:dns/promises'
import type { FleetWorkers } from '../../fleet/fleet-workers.js'
import type { Finding } from '../../fleet/health-causes.js'
import type { Timers } from '../timers.js'
import { DebouncedSet } from './debounced-set.js'
import { readWatchedFile } from './watched-file.js'
import { type WorkerEntry, entryOf } from './worker-entry.js'
import { parseWorkerFile } from './worker-file.js'

/** Where workers come from beside the API. */
export interface WorkerSources {
  /** Of flags, parsed. */
  readonly flags?: readonly WorkerEntry[] | undefined
  /** Absolute path of a worker file, which is watched. */
  readonly file?: string | undefined
  /** Names whose addresses are workers. */
  readonly dns?: readonly { readonly host: string; readonly port: number }[] | undefined
}

export interface WorkerDiscoveryOptions {
  readonly workers: FleetWorkers
  readonly timers: Timers
  readonly sources: WorkerSources
  /** Text of a file. Error: `ConfigError`. Default: from the disk. */
  readonly readFile?: ((path: string) => Promise<string>) | undefined
  /** Addresses of a name, none = it has none. Default: as the system resolves it. */
  readonly resolve?: ((host: string) => Promise<readonly string[]>) | undefined
}

/** A worker as it is to be applied: its record, and its key. */
interface Wanted {
  readonly entry: WorkerEntry
  readonly apiKey: string | undefined
  /** Says whether two are the same. */
  readonly text: string
}

interface Source {
  readonly name: string
  workers: ReadonlyMap<bigint, Wanted>
  readonly debounced: DebouncedSet<Wanted>
  /** A file's last text, and what it says, or why it says nothing: not parsed again and again. */
  read?: { readonly text: string; readonly entries?: readonly WorkerEntry[]; readonly error?: unknown }
  /** Why it could not be read; its workers stay as they were. */
  fault?: string | undefined
  cancel?: () => void
}

const fileMs = 1000
const dnsMs = 5000
/** Between the two looks that show that a worker is gone. */
const removalMs = 2000

/**
 * Puts the workers of flags, of a watched file and of DNS names into a fleet, and takes them out again. A worker that several sources name
 * belongs to the first of them. A file or name that cannot be read leaves everything as it was; so does what the API did to a worker whose
 * record stays as it is. What it keeps is bounded by what the sources say.
 */
export class WorkerDiscovery {
  readonly #options: WorkerDiscoveryOptions
  readonly #sources: Source[] = []
  readonly #applied = new Map<bigint, Wanted>()
  // Why the fleet does not take a record; of applied ones alone.
  readonly #refused = new Map<bigint, string>()
  #isClosed = false

  constructor(options: WorkerDiscoveryOptions) {
    this.#options = options
  }

  /** Begins with what the sources say now. Error: `ConfigError` for a file or a key that cannot be read; a name may get addresses later. */
  async start(): Promise<void> {
    const { flags = [], file, dns = [] } = this.#options.sources
    const fixed = this.#add('flags')
    fixed.workers = await this.#wantedOf(flags)
    const opened = file === undefined ? undefined : this.#add(file)
    if (opened !== undefined)
      opened.workers = opened.debounced.look(await this.#readFile(opened), this.#options.timers.nowMs())
    this.#apply()
    if (opened !== undefined) this.#watch(opened, fileMs, () => this.#readFile(opened))
    const names = dns.map(({ host, port }) => [this.#add(`${host}:${port}`), host, port] as const)
    for (const [source, host, port] of names) void this.#look(source, dnsMs, () => this.#resolve(host, port))
  }

  /** Key of a worker's engine, for whoever asks it. */
  apiKeyOf(workerId: bigint): string | undefined {
    return this.#applied.get(workerId)?.apiKey
  }

  /** Sources that cannot be read, and workers that the fleet does not take. */
  findings(): Finding[] {
    const sources = this.#sources.flatMap(({ name, fault }): Finding[] =>
      fault === undefined
        ? []
        : [{ code: 'discovery_invalid', scope: name, detail: `${fault}; the workers stay as they were` }],
    )
    const workers = [...this.#refused].map(([workerId, detail]): Finding => ({
      code: 'discovery_invalid',
      scope: String(workerId),
      detail,
    }))
    return [...sources, ...workers]
  }

  /** Looks at no source any more; the workers stay. */
  close(): void {
    this.#isClosed = true
    for (const { cancel } of this.#sources) cancel?.()
  }

  #add(name: string): Source {
    const source: Source = { name, workers: new Map(), debounced: new DebouncedSet(removalMs) }
    this.#sources.push(source)
    return source
  }

  /** Looks again and again, from the end of one look to the next. */
  #watch(source: Source, everyMs: number, read: () => Promise<ReadonlyMap<bigint, Wanted>>): void {
    if (this.#isClosed) return
    source.cancel = this.#options.timers.after(everyMs, () => void this.#look(source, everyMs, read))
  }

  async #look(
    source: Source,
    everyMs: number,
    read: () => Promise<ReadonlyMap<bigint, Wanted>>,
  ): Promise<void> {
    try {
      const workers = await read()
      if (this.#isClosed) return
      source.workers = source.debounced.look(workers, this.#options.timers.nowMs())
      source.fault = undefined
      this.#apply()
    } catch (error) {
      source.fault = (error as Error).message
    }
    this.#watch(source, everyMs, read)
  }

  async #readFile(source: Source): Promise<ReadonlyMap<bigint, Wanted>> {
    const { readFile = readWatchedFile } = this.#options
    const text = await readFile(source.name)
    if (source.read?.text !== text) source.read = { text, ...parsed(text, source.name) }
    const { entries, error } = source.read
    if (entries === undefined) throw error
    // Anew: keys may change without the file.
    return this.#wantedOf(entries)
  }

  async #resolve(host: string, port: number): Promise<ReadonlyMap<bigint, Wanted>> {
    const { resolve = addressesOf } = this.#options
    const addresses = await resolve(host)
    const urls = addresses.map(
      (address) => `http://${address.includes(':') ? `[${address}]` : address}:${port}`,
    )
    return this.#wantedOf(urls.map((url) => entryOf(url, {})))
  }

  async #wantedOf(entries: readonly WorkerEntry[]): Promise<Map<bigint, Wanted>> {
    const { readFile = readWatchedFile } = this.#options
    const wanted = new Map<bigint, Wanted>()
    for (const entry of entries) {
      const { apiKeyFile, registration } = entry
      const apiKey = apiKeyFile === undefined ? undefined : (await readFile(apiKeyFile)).trim()
      wanted.set(registration.workerId, { entry, apiKey, text: textOf(entry) })
    }
    return wanted
  }

  /** Makes the fleet what the sources say, where they say something else than before. */
  #apply(): void {
    const { workers } = this.#options
    const wanted = new Map<bigint, Wanted>()
    for (const source of this.#sources)
      for (const [workerId, worker] of source.workers) if (!wanted.has(workerId)) wanted.set(workerId, worker)
    for (const workerId of this.#applied.keys()) {
      if (wanted.has(workerId)) continue
      this.#applied.delete(workerId)
      this.#refused.delete(workerId)
      // Whoever registered it anew through the API keeps it.
      if (workers.get(workerId)?.origin === 'trusted') workers.remove(workerId)
    }
    for (const [workerId, worker] of wanted) {
      const before = this.#applied.get(workerId)
      this.#applied.set(workerId, worker)
      if (before?.text === worker.text) continue
      this.#refused.delete(workerId)
      try {
        workers.upsert(worker.entry.registration, 'trusted')
      } catch (error) {
        this.#refused.set(workerId, (error as Error).message)
      }
    }
  }
}

function parsed(
  text: string,
  path: string,
): { readonly entries?: readonly WorkerEntry[]; readonly error?: unknown } {
  try {
    return { entries: parseWorkerFile(text, path) }
  } catch (error) {
    return { error }
  }
}

/** Two entries with one text are the same. */
function textOf({ registration }: WorkerEntry): string {
  return JSON.stringify(registration, (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value instanceof Map ? [...value] : value,
  )
}

async function addressesOf(host: string): Promise<readonly string[]> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address)
  } catch (error) {
    // The name is there no more, or has no addresses: an answer, not a fault.
    if (['ENOTFOUND', 'ENODATA'].includes((error as NodeJS.ErrnoException).code ?? '')) return []
    throw error
  }
}
