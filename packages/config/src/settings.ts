/** A start-up setting that a flag or a variable may give. */
export interface SettingDefinition {
  /** Without dashes. */
  readonly flag: string
  /** Our variable. */
  readonly variable: string
  /** Dynamo's variables for the same, in order of precedence. */
  readonly aliases: readonly string[]
  /** `name` is trimmed and a blank one counts as not given; `number` and `choice` are taken to the letter. */
  readonly kind: 'name' | 'number' | 'choice'
  /** Left out = 0. */
  readonly minimum?: number
  readonly maximum?: number
  readonly choices?: readonly string[]
  readonly description: string
}

function setting(
  flag: string,
  kind: SettingDefinition['kind'],
  description: string,
  more: Pick<SettingDefinition, 'minimum' | 'maximum' | 'choices'> = {},
): SettingDefinition {
  const words = flag.replaceAll('-', '_').toUpperCase()
  return {
    flag,
    variable: `ROUTER_${words.replace(/^ROUTER_/u, '')}`,
    aliases: [`DYN_${words}`],
    kind,
    description,
    ...more,
  }
}

/** The settings that decide which policy serves a role, and what scoring policies inherit. Numbers are finite, and >= 0 or their minimum. */
export const selectionSettings = {
  policyConfig: setting('router-policy-config', 'name', 'router-policy file (YAML)'),
  prefillPolicy: setting('router-prefill-policy', 'name', 'instance that serves prefill'),
  decodePolicy: setting('router-decode-policy', 'name', 'instance that serves decode'),
  workerSelectionPolicy: setting('router-worker-selection-policy', 'name', 'instance that serves every role'),
  overlapScoreCredit: setting(
    'router-kv-overlap-score-credit',
    'number',
    'credit for cached prompt blocks; 1',
  ),
  overlapScoreCreditDecay: setting(
    'router-kv-overlap-score-credit-decay',
    'number',
    'decay of that credit; 0',
  ),
  overlapScoreWeight: {
    ...setting(
      'router-kv-overlap-score-weight',
      'number',
      'deprecated: prefill load scale, and no credit when 0',
    ),
    aliases: ['DYN_ROUTER_KV_OVERLAP_SCORE_WEIGHT', 'DYN_OVERLAP_SCORE_WEIGHT'],
  },
  prefillLoadScale: setting('router-prefill-load-scale', 'number', 'weight of prefill load; 1'),
  decodeActiveRequestWeight: setting(
    'router-decode-active-request-weight',
    'number',
    'cost of an active request; 0',
  ),
  hostCacheHitWeight: setting(
    'router-host-cache-hit-weight',
    'number',
    'worth of a block in host memory; 0.75',
    { maximum: 1 },
  ),
  diskCacheHitWeight: setting('router-disk-cache-hit-weight', 'number', 'worth of a block on disk; 0.25', {
    maximum: 1,
  }),
  sharedCacheMultiplier: setting(
    'shared-cache-multiplier',
    'number',
    'worth of a block in a shared cache; 0, or 0.5 with one',
    { maximum: 1 },
  ),
  sharedCacheType: setting('shared-cache-type', 'choice', 'kind of shared cache; none', {
    choices: ['none', 'hicache'],
  }),
  temperature: setting('router-temperature', 'number', 'spread of the choice around the lowest cost; 0'),
  encoderCudaToCpuRatio: setting(
    'encoder-cuda-to-cpu-ratio',
    'number',
    'load that an accelerator carries against a CPU worker; 8',
    { minimum: 1 },
  ),
} satisfies Record<string, SettingDefinition>
