import { z } from 'zod'

/** Of instances, types, queue classes, families and buckets. */
export const namePattern = /^[A-Za-z0-9_.-]+$/u

/** Types of the shipped policies, for completion in editors; other packages add their own. */
const shippedTypes = ['dynamo-default-cost-fn', 'prefix-affinity', 'dynamo-kv-capacity-aware']

const name = (): z.ZodString => z.string().regex(namePattern, 'must match [A-Za-z0-9_.-]+')
const weight = (): z.ZodNumber => z.number().min(0).max(1)
const packageName = z
  .string()
  .min(1)
  .nullish()
  .meta({
    description: 'npm package that provides the type, resolved from the folder of this file',
    examples: ['@acme/router-policies'],
  })

// Only what may be refused key by key is said here; rules over several keys are in check-*.ts.

const role = z
  .string()
  .nullish()
  .meta({ description: "Name of an instance, or 'default' for the built-in policy", examples: ['default'] })

const parameters = z
  .record(z.string(), z.unknown())
  .optional()
  .meta({ description: 'Parameters of the type; left out means its defaults' })

const instance = z
  .strictObject({
    name: name().meta({ description: "Name for the roles; 'default' is reserved" }),
    type: name().meta({ description: 'Registered type or alias', examples: shippedTypes }),
    package: packageName,
    version: z
      .string()
      .min(1)
      .nullish()
      .meta({
        description: 'Version range, for when several versions of the type are loaded',
        examples: ['>=1.2 <2'],
      }),
    runtime: z
      .boolean()
      .nullish()
      .meta({ description: 'Reserve every input that a change of parameters while running could need' }),
    parameters,
  })
  .meta({ description: 'A configured policy' })

const workerSelection = z
  .strictObject({
    allow_alpha: z.boolean().nullish().meta({ description: 'Allow policies of stability alpha' }),
    aggregated: role,
    prefill: role,
    decode: role,
    encode: role,
    instances: z.array(instance).nullish().meta({ description: 'Policies that the roles may name' }),
  })
  .meta({ description: 'Which policy chooses the worker, by role' })

const bucket = z.strictObject({
  min_tokens: z
    .int()
    .min(0)
    .meta({ description: 'Uncached prompt tokens from which the bucket applies; the first is 0' }),
  bucket: name().meta({ description: 'Name of the bucket' }),
})

const limit = (what: string) =>
  z
    .int()
    .min(0)
    .nullish()
    .meta({ description: `${what}, per worker; 0 refuses whatever would wait` })
const threshold = (description: string) => z.number().min(0).nullish().meta({ description })

const policyClass = z
  .strictObject({
    name: name().meta({ description: 'Name of the class' }),
    policy_family: name()
      .nullish()
      .meta({ description: 'Matrix form: family of the class, together with cache_bucket' }),
    cache_bucket: name()
      .nullish()
      .meta({ description: 'Matrix form: bucket of the class, together with policy_family' }),
    queue_policy: z
      .enum(['fcfs', 'wspt'])
      .nullish()
      .meta({ description: 'Matrix form: order inside the class; fcfs when left out' }),
    slo_ms: z
      .number()
      .gt(0)
      .nullish()
      .meta({ description: 'Flat form, required there: milliseconds from arrival to the deadline' }),
    quantum: z.int().min(1).meta({ description: 'Tokens that the class may admit per round' }),
    prefill_busy_threshold: threshold('A rank with more active prefill tokens counts as busy'),
    prefill_busy_threshold_frac: threshold('The same, as a multiple of max_num_batched_tokens'),
    busy_worker_ratio: z.number().gt(0).max(1).nullish().meta({
      description: 'Matrix form: queue from this share of busy ranks on; all of them when left out',
    }),
    request_queue_limit_per_worker: limit('Waiting requests'),
    raw_isl_token_queue_limit_per_worker: limit('Prompt tokens of waiting requests'),
    cached_token_queue_limit_per_worker: limit('Cached prompt tokens of waiting requests'),
  })
  .meta({ description: 'A queue class' })

const profileShape = {
  default_policy_family: name()
    .nullish()
    .meta({ description: 'Matrix form: family of requests that name no class' }),
  uncached_isl_buckets: z
    .array(bucket)
    .nullish()
    .meta({ description: 'Matrix form: buckets by uncached prompt tokens' }),
  default_policy_class: name().nullish().meta({ description: 'Flat form: class of requests that name none' }),
  policy_classes: z.array(policyClass).nullish().meta({ description: 'Queue classes' }),
}

/** Keys of a queue profile. */
export const profileKeys = Object.keys(profileShape) as (keyof typeof profileShape)[]

const router = z
  .strictObject({
    host_cache_hit_weight: weight()
      .optional()
      .meta({ description: 'Worth of a block in host memory; 0.75 when left out' }),
    disk_cache_hit_weight: weight()
      .optional()
      .meta({ description: 'Worth of a block on disk; 0.25 when left out' }),
    use_kv_events: z
      .boolean()
      .optional()
      .meta({ description: 'Keep the index from KV events of the engines; true when left out' }),
    use_remote_indexer: z.boolean().optional().meta({ description: 'Not offered: only false' }),
    serve_indexer: z.boolean().optional().meta({ description: 'Not offered: only false' }),
    enable_session_prefix_index: z.boolean().optional().meta({ description: 'Not offered: only false' }),
    shared_cache_type: z
      .enum(['none', 'hicache'])
      .optional()
      .meta({ description: 'Kind of shared cache; none when left out' }),
    router_replica_sync: z
      .boolean()
      .optional()
      .meta({ description: 'Share load and sessions with other replicas; false when left out' }),
    router_track_active_blocks: z
      .boolean()
      .optional()
      .meta({ description: 'Account for the blocks of running requests; true when left out' }),
    router_track_output_blocks: z
      .boolean()
      .optional()
      .meta({ description: 'Account for output blocks too; false when left out' }),
    router_assume_kv_reuse: z
      .boolean()
      .optional()
      .meta({ description: 'Count a block that several requests share once; true when left out' }),
    router_track_prefill_tokens: z
      .boolean()
      .optional()
      .meta({ description: 'Account for prompt tokens in prefill; true when left out' }),
    router_tracking_hash: z
      .enum(['public-xxh3-v1', 'keyed-xxh3-v1'])
      .optional()
      .meta({ description: 'Only public-xxh3-v1 is offered' }),
    router_tracking_key_file: z.string().nullish().meta({ description: 'Not offered' }),
    router_tracking_key_id: z.string().nullish().meta({ description: 'Not offered' }),
    router_prefill_load_model: z
      .enum(['none', 'aic', 'ais'])
      .optional()
      .meta({ description: 'Only none is offered' }),
    router_ttl_secs: z
      .number()
      .min(0)
      .optional()
      .meta({ description: 'Lifetime of approximate index entries, seconds; 120 when left out' }),
    router_approximate_cache_policy: z
      .enum(['ttl', 'lru'])
      .optional()
      .meta({ description: 'What the approximate index drops first; ttl when left out' }),
    router_event_threads: z.int().min(1).optional().meta({ description: 'No effect' }),
    router_predicted_ttl_secs: z
      .number()
      .min(0)
      .nullish()
      .meta({ description: 'Lifetime of predicted index entries, seconds' }),
  })
  .meta({ description: 'Router settings; they win over flags and environment' })

const requestClassifier = z
  .strictObject({
    type: name().meta({ description: 'Registered classifier type' }),
    package: packageName,
    parameters,
  })
  .meta({ description: 'Decides when a request may enter the queue' })

/** The whole file, key by key. */
export const fileSchema = z
  .strictObject({
    worker_selection: workerSelection.nullish(),
    request_classifier: requestClassifier.nullish(),
    router: router.nullish(),
    ...profileShape,
    models: z
      .record(z.string(), z.strictObject(profileShape))
      .nullish()
      .meta({ description: 'Queue profiles of single models; each replaces the profile at the root' }),
  })
  .meta({ title: 'Router policy file', description: 'Worker selection, queue classes and router settings' })

/** Reading leaves out nullish keys that are null. */
type Written<T> = T extends readonly (infer E)[]
  ? Written<E>[]
  : T extends object
    ? { [K in keyof T]: Written<Exclude<T[K], null>> }
    : T

/** Typed keys of the file, as written. */
export type FileValues = Written<z.output<typeof fileSchema>>
