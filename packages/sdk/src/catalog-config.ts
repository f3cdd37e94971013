import type { ClassifierDefinition } from './classifier.js'
import type { KvHintPolicyDefinition } from './kv-hint.js'
import type { PolicyDefinition } from './policy.js'
import type { WorkerRole } from './worker.js'

/** A configured plugin of a kind of which a process runs at most one. */
export interface PluginConfig {
  /** Registered type or alias, in the namespace of the kind. */
  readonly type: string
  /** Specifier of the npm package that provides the type; absent = the global namespace. */
  readonly package?: string | undefined
  /** Version range over the loaded candidates. */
  readonly version?: string | undefined
  /** As written, for the schema of the type; absent = an empty mapping. */
  readonly parameters?: unknown
}

/** One configured instance of a policy type. */
export interface PolicyInstanceConfig extends PluginConfig {
  /** `[A-Za-z0-9_.-]+`, not `default`, unique in its configuration. */
  readonly name: string
  /** True = reserve every input that a run-time patch could need. */
  readonly runtime?: boolean | undefined
}

/** Instances, and which of them serves each role (`default` or absent = the built-in). */
export interface WorkerSelectionConfig extends Partial<Record<WorkerRole, string | undefined>> {
  /** True = types of stability `alpha` may be named. */
  readonly allowAlpha?: boolean | undefined
  /** Configured instances, in file order. */
  readonly instances?: readonly PolicyInstanceConfig[] | undefined
}

/** What the catalog resolves: plugins of all kinds. */
export interface CatalogConfig extends WorkerSelectionConfig {
  /** Absent = requests enter the queue unclassified. */
  readonly requestClassifier?: PluginConfig | undefined
  /** Absent = no extra hints. */
  readonly kvHintPolicy?: PluginConfig | undefined
}

/** A policy ready to be built for a partition and role. Roles that name one instance, or the built-in, share this object. */
export interface ResolvedPolicy {
  /** The type that the instance names. */
  readonly definition: PolicyDefinition
  /** Instance name; `default` for the built-in. */
  readonly name: string
  /** Parameters as configured (before the schema), the base of run-time patches. */
  readonly configured: Readonly<Record<string, unknown>>
  /** Output of the schema. */
  readonly parameters: unknown
  /** Whether the instance reserves every input that a run-time patch could need. */
  readonly runtime: boolean
}

/** A classifier or hint policy ready to be made: `definition.create(parameters, ...)`. */
export interface ResolvedPlugin<D> {
  /** The type that the configuration names. */
  readonly definition: D
  /** Output of the schema. */
  readonly parameters: unknown
}

/** Everything that a configuration selects, resolved once at start-up. */
export interface PolicyBundle {
  /** `undefined` only where no role selects an instance and the host has no built-in. */
  readonly roles: Readonly<Record<WorkerRole, ResolvedPolicy | undefined>>
  /** Every configured instance, selected or not, in file order. */
  readonly instances: readonly ResolvedPolicy[]
  /** Whether some role selects an instance rather than the built-in. */
  readonly selectsCustomInstance: boolean
  /** `undefined` unless configured. */
  readonly requestClassifier: ResolvedPlugin<ClassifierDefinition> | undefined
  /** `undefined` unless configured. */
  readonly kvHintPolicy: ResolvedPlugin<KvHintPolicyDefinition> | undefined
}

/** What a package provides: its exports, as far as the catalog reads them. */
export interface PluginPackage {
  readonly policies?: readonly PolicyDefinition[] | undefined
  readonly classifiers?: readonly ClassifierDefinition[] | undefined
  readonly kvHintPolicies?: readonly KvHintPolicyDefinition[] | undefined
}

/** Picks the best of `versions` in `range`, or `null`; `semver.maxSatisfying` fits. */
export type VersionSelector = (versions: readonly string[], range: string) => string | null
