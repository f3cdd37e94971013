import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import type { FleetWorkers } from '../fleet/fleet-workers.js'

/** Models whose folder is remembered; beyond, all are looked up again. */
const maximumModels = 1024
const templateFiles = new Set(['chat_template.jinja', 'chat_template.json'])

/** What names tokenizers. */
export interface TokenizerSettings {
  /** Folders by model; `''` = every other one. */
  readonly tokenizers: ReadonlyMap<string, string>
  /** A chat template that takes the place of those in the folders. */
  readonly chatTemplate: Buffer | undefined
}

/**
 * Where the tokenizer of a model is: where the settings say, else where its engines have the model, if that is a folder of this machine.
 * With a chat template of its own, a folder is one of links, which `close` removes.
 */
export class Tokenizers {
  readonly #folders: ReadonlyMap<string, string>
  readonly #workers: FleetWorkers
  readonly #made: readonly string[]
  readonly #ofEngines = new Map<string, { readonly folder: string | undefined; readonly atMs: number }>()
  readonly #nowMs: () => number

  private constructor(
    folders: ReadonlyMap<string, string>,
    made: readonly string[],
    workers: FleetWorkers,
    nowMs: () => number,
  ) {
    this.#folders = folders
    this.#made = made
    this.#workers = workers
    this.#nowMs = nowMs
  }

  /** Errors: those of the system where the folders with the given template cannot be made; nothing is left of them then. */
  static async create(
    { tokenizers, chatTemplate }: TokenizerSettings,
    workers: FleetWorkers,
    nowMs: () => number,
  ): Promise<Tokenizers> {
    const made: string[] = []
    const folders = new Map<string, string>()
    const all = new Tokenizers(folders, made, workers, nowMs)
    for (const [model, folder] of tokenizers) {
      if (chatTemplate === undefined) {
        folders.set(model, resolve(folder))
        continue
      }
      const own = await mkdtemp(join(tmpdir(), 'router-tokenizer-'))
      made.push(own)
      folders.set(model, own)
      await fill(own, folder, chatTemplate).catch(async (error: unknown) => {
        await all.close()
        throw error
      })
    }
    return all
  }

  /** Models that engines were asked about. */
  get size(): number {
    return this.#ofEngines.size
  }

  /** Those that the settings name. */
  get named(): readonly string[] {
    return [...new Set(this.#folders.values())]
  }

  /** Folder of a model's tokenizer; `undefined` = nobody knows one. */
  folderOf(model: string): string | undefined {
    return this.#folders.get(model) ?? this.#folders.get('') ?? this.#folderAtEngines(model)
  }

  async close(): Promise<void> {
    for (const folder of this.#made) await rm(folder, { recursive: true, force: true })
  }

  /** Where trusted engines say that they have it. */
  #folderAtEngines(model: string): string | undefined {
    const known = this.#ofEngines.get(model)
    const nowMs = this.#nowMs()
    if (known !== undefined && nowMs - known.atMs < (known.folder === undefined ? 5000 : 60_000))
      return known.folder
    const folder = this.#workers
      .list()
      .filter(({ origin, registration }) => origin === 'trusted' && registration.modelName === model)
      .flatMap(({ facts }) => facts?.models ?? [])
      .filter(({ id, parent }) => id === model && parent === undefined)
      .map(({ root }) => root)
      .find((root) => root !== undefined && isAbsolute(root) && existsSync(join(root, 'tokenizer.json')))
    if (this.#ofEngines.size >= maximumModels) this.#ofEngines.clear()
    this.#ofEngines.set(model, { folder, atMs: nowMs })
    return folder
  }
}

/** Gives a folder the files of another, and a chat template of its own. */
async function fill(own: string, folder: string, template: Buffer): Promise<void> {
  for (const name of await readdir(folder))
    if (!templateFiles.has(name)) await symlink(resolve(folder, name), join(own, name))
  await writeFile(join(own, 'chat_template.jinja'), template)
}
