import { z } from 'zod'
import { isLoopback } from '../http/access.js'
import type { ServeSettingReader } from './serve-setting-reader.js'
import { serveSettings } from './serve-setting-table.js'
import type { ServeSettings } from './serve-settings.js'

/** Policies of conditional disaggregation that look at load. */
const loadPolicies = ['prefill_load', 'isl_or_load']

const threshold = z.number().min(0).optional()

/** What `--router-conditional-disagg-config` may say (host.md 10.3). */
const conditionalDisaggConfig = z.strictObject({
  policy: z.enum(['isl_bounding', 'prefill_load', 'isl_or_load']).default('isl_bounding'),
  eff_isl_threshold: threshold,
  eff_isl_ratio_threshold: z.number().min(0).max(1).optional(),
  prefill_busy_threshold: threshold,
  decode_busy_threshold: threshold,
})

/** Refuses what cannot be together (host.md 16.3). Faults go to the reader. */
export function checkTogether(settings: ServeSettings, reader: ServeSettingReader): void {
  const s = serveSettings
  if (settings.tracksOutputBlocks && !settings.tracksActiveBlocks)
    reader.refuse(
      s.trackOutputBlocks,
      'blocks in use are not tracked',
      'false, or --router-track-active-blocks',
    )
  if (settings.predictedTtlSecs !== undefined && !settings.usesKvEvents)
    reader.refuse(s.predictedTtlSecs, 'predictions need events', 'None, or --router-kv-events')
  if (settings.approximateCachePolicy === 'lru' && settings.usesKvEvents)
    reader.refuse(s.approximateCachePolicy, 'events are on', 'ttl, or --no-router-kv-events')
  if (settings.replicaSync && reader.read(s.natsUrl) === undefined)
    reader.refuse(s.replicaSync, 'replicas need a place to meet', 'false, or --nats-url nats://host:port')
  if (reader.read<boolean>(s.loadAware)) {
    if (settings.mode !== 'kv')
      reader.refuse(s.loadAware, `router mode is ${settings.mode}`, 'false, or mode kv')
    const message = `--${s.loadAware.flag} is deprecated: write --no-${s.kvEvents.flag} --no-${s.assumeKvReuse.flag} and an overlap_score_credit of 0`
    reader.warnings.push({ code: 'deprecated_setting', message })
  }
  checkConditionalDisagg(settings, reader)
  checkAccess(settings, reader)
}

/** Whoever can reach a listener beyond this machine needs a token or a key. */
function checkAccess(
  { host, hasNoAdmin, adminToken, apiKeys }: ServeSettings,
  reader: ServeSettingReader,
): void {
  if (isLoopback(host)) return
  const { httpHost, adminTokenFile, noAdminApi, apiKeyFile } = serveSettings
  if (adminToken === undefined && !hasNoAdmin)
    reader.refuse(
      httpHost,
      'others than this machine could use the admin routes',
      `a loopback host, --${adminTokenFile.flag}, or --${noAdminApi.flag}`,
    )
  if (apiKeys.length > 0) return
  const message = `whoever reaches ${host} may send requests: there is no --${apiKeyFile.flag}`
  reader.warnings.push({ code: 'unprotected', message })
}

function checkConditionalDisagg(settings: ServeSettings, reader: ServeSettingReader): void {
  const s = serveSettings
  const setting = s.conditionalDisaggConfig
  const text = reader.read<string | undefined>(setting)
  if (text === undefined) return
  const parsed = conditionalDisaggConfig.safeParse(jsonOf(text))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const keys = Object.keys(conditionalDisaggConfig.shape).join(', ')
    reader.refuse(
      setting,
      `${issue!.path.join('.')} ${issue!.message}`.trim(),
      `a JSON object with some of ${keys}`,
    )
    return
  }
  if (!reader.read<boolean>(s.conditionalDisagg))
    reader.refuse(setting, 'conditional disaggregation is off', 'unset, or --router-conditional-disagg')
  const { policy, prefill_busy_threshold: own } = parsed.data
  const share = own ?? settings.prefillBusyThreshold ?? settings.queueThreshold
  if (loadPolicies.includes(policy) && share === undefined)
    reader.refuse(
      setting,
      `policy ${policy} needs a threshold`,
      `prefill_busy_threshold in it, --${s.prefillBusy.flag}, or --${s.queueThreshold.flag}`,
    )
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
