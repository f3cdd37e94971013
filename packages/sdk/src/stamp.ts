import type { z } from 'zod'

/** Version of the contract that `definePolicy` stamps and the catalog checks. */
export const contractVersion = 1

/** What the author of any kind of plugin writes. */
interface PluginSource {
  readonly type: string
  readonly aliases?: readonly string[]
  readonly package?: string
  readonly version: string
  readonly parameters: z.ZodType
}

/** The part that definitions of all kinds share, stamped with the contract version. */
export function stamped(source: PluginSource) {
  return {
    contractVersion,
    type: source.type,
    aliases: source.aliases ?? [],
    package: source.package,
    version: source.version,
    parameters: source.parameters,
  }
}
