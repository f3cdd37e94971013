import { notFound } from './api-error.js'

/** A LoRA adapter: its name, and where it came from. */
export interface LoraAdapter {
  readonly name: string
  readonly path: string
}

/** What a request runs on: the name that is given back, and the adapter if it is one. */
export interface ServedName {
  readonly name: string
  readonly loraName: string | undefined
}

/** The names under which the server can be asked. */
export class ServedModels {
  /** The first is the one that the server speaks of itself with. */
  readonly names: readonly string[]
  /** Where the base model came from. */
  readonly root: string
  readonly adapters: readonly LoraAdapter[]

  constructor(names: readonly string[], root: string, adapters: readonly LoraAdapter[]) {
    this.names = names
    this.root = root
    this.adapters = adapters
  }

  get main(): string {
    return this.names[0]!
  }

  /** Throws an `ApiError` of status 404 for a name that nothing has. No name = the base model. */
  find(name: string | null | undefined): ServedName {
    if (name === undefined || name === null || name === '') return { name: this.main, loraName: undefined }
    if (this.names.includes(name)) return { name: this.main, loraName: undefined }
    if (this.adapters.some((adapter) => adapter.name === name)) return { name, loraName: name }
    throw notFound(`The model \`${name}\` does not exist.`, 'model')
  }
}
