import { type RouterDefaults, routerDefaults } from '@router/sdk'
import type { RouterSettings } from './policy-file.js'
import type { Given, SettingReader } from './setting-reader.js'
import { type SettingDefinition, selectionSettings } from './settings.js'

/** What a legacy overlap weight means: it scales prefill load, and 0 also takes the credit away. */
export function overlapWeightDefaults(weight: number): Partial<RouterDefaults> {
  return { prefill_load_scale: weight, ...(weight === 0 && { overlap_score_credit: 0 }) }
}

/**
 * The values that scoring policies inherit. The `router` section wins for the keys it may hold, then flags, then environment,
 * then the built-in values. Faults and warnings go to the reader.
 */
export function readRouterDefaults(reader: SettingReader, router: RouterSettings = {}): RouterDefaults {
  const number = (setting: SettingDefinition, builtIn: number): number =>
    valueOf(reader.read(setting)) ?? builtIn
  const fromFile = <T>(
    setting: SettingDefinition,
    key: keyof RouterSettings,
    value: T | undefined,
  ): T | undefined => {
    const given = reader.read(setting)
    if (value === undefined) return given?.value as T | undefined
    if (given !== undefined && given.value !== value) {
      const message = `${given.origin}=${given.value} is ignored: router.${key}: ${String(value)} of the file wins`
      reader.warnings.push({ code: 'overridden_by_file', message })
    }
    return value
  }
  const settings = selectionSettings
  const sharedCacheType = fromFile(settings.sharedCacheType, 'shared_cache_type', router.shared_cache_type)
  const hostWeight = fromFile(
    settings.hostCacheHitWeight,
    'host_cache_hit_weight',
    router.host_cache_hit_weight,
  )
  const diskWeight = fromFile(
    settings.diskCacheHitWeight,
    'disk_cache_hit_weight',
    router.disk_cache_hit_weight,
  )
  const sharedMultiplier = number(settings.sharedCacheMultiplier, sharedCacheType === 'hicache' ? 0.5 : 0)
  return {
    ...readCreditAndScale(reader),
    overlap_score_credit_decay: number(
      settings.overlapScoreCreditDecay,
      routerDefaults.overlap_score_credit_decay,
    ),
    decode_active_request_weight: number(
      settings.decodeActiveRequestWeight,
      routerDefaults.decode_active_request_weight,
    ),
    host_cache_hit_weight: hostWeight ?? routerDefaults.host_cache_hit_weight,
    disk_cache_hit_weight: diskWeight ?? routerDefaults.disk_cache_hit_weight,
    shared_cache_multiplier: sharedMultiplier,
    prefix_affinity_weight: routerDefaults.prefix_affinity_weight,
    router_temperature: number(settings.temperature, routerDefaults.router_temperature),
    encoder_cuda_to_cpu_ratio: number(
      settings.encoderCudaToCpuRatio,
      routerDefaults.encoder_cuda_to_cpu_ratio,
    ),
  }
}

/** A legacy weight wins over the settings that replaced it on its own level: command line or environment. */
function readCreditAndScale(
  reader: SettingReader,
): Pick<RouterDefaults, 'overlap_score_credit' | 'prefill_load_scale'> {
  const weight = reader.readLevels(selectionSettings.overlapScoreWeight)
  const credit = reader.readLevels(selectionSettings.overlapScoreCredit)
  const scale = reader.readLevels(selectionSettings.prefillLoadScale)
  const onLevel = (level: 'flag' | 'environment'): Partial<RouterDefaults> => {
    const legacy = weight[level]
    const meaning = legacy === undefined ? {} : overlapWeightDefaults(Number(legacy.value))
    if (legacy !== undefined) {
      const effects = Object.entries(meaning).map(([key, value]) => `${key} ${value}`)
      const message = `${legacy.origin}=${legacy.value} is deprecated: it means ${effects.join(' and ')}`
      reader.warnings.push({ code: 'deprecated_setting', message })
    }
    return {
      ...defined('overlap_score_credit', credit[level]),
      ...defined('prefill_load_scale', scale[level]),
      ...meaning,
    }
  }
  const { overlap_score_credit, prefill_load_scale } = routerDefaults
  return { overlap_score_credit, prefill_load_scale, ...onLevel('environment'), ...onLevel('flag') }
}

function defined(key: keyof RouterDefaults, given: Given | undefined): Partial<RouterDefaults> {
  return given === undefined ? {} : { [key]: Number(given.value) }
}

function valueOf(given: Given | undefined): number | undefined {
  return given === undefined ? undefined : Number(given.value)
}
