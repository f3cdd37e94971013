import { setting } from './setting.js'

const kvOnly = { needs: 'kv' } as const

/** What is known of the caches of engines, and counted of their load; all of it in mode kv alone (host.md 3, 4, 16.1). */
export const kvSettings = {
  kvEvents: setting('router-kv-events', 'switch', true, 'engines tell what they hold', {
    alias: 'DYN_ROUTER_USE_KV_EVENTS',
    ...kvOnly,
  }),
  maxIndexBlocks: setting(
    'max-index-blocks',
    'integer',
    2 ** 24,
    'told blocks of a partition; 0 = as engines have room for, times 4',
    {
      alias: null,
      maximum: 2 ** 30,
      ...kvOnly,
    },
  ),
  indexRebuildHorizonSecs: setting(
    'index-rebuild-horizon-secs',
    'number',
    600,
    'an engine that missed none for so long is known again, seconds',
    {
      alias: null,
      minimum: 0.001,
      ...kvOnly,
    },
  ),
  ttlSecs: setting('router-ttl-secs', 'number', 120, 'life of believed blocks, seconds', {
    minimum: 0.001,
    ...kvOnly,
  }),
  maxTreeSize: setting('router-max-tree-size', 'integer', 2 ** 20, 'believed blocks of a partition', {
    minimum: 1,
    maximum: 2 ** 30,
    ...kvOnly,
  }),
  pruneTargetRatio: setting('router-prune-target-ratio', 'number', 0.8, 'share of them left after pruning', {
    maximum: 1,
    ...kvOnly,
  }),
  approximateCachePolicy: setting(
    'router-approximate-cache-policy',
    ['ttl', 'lru'],
    'ttl',
    'how they are kept',
    kvOnly,
  ),
  predictedTtlSecs: setting(
    'router-predicted-ttl-secs',
    'number',
    undefined,
    'life of predictions beside events, seconds; else there are none',
    { minimum: 0.001, ...kvOnly },
  ),
  trackActiveBlocks: setting('router-track-active-blocks', 'switch', true, 'count blocks in use', kvOnly),
  trackOutputBlocks: setting(
    'router-track-output-blocks',
    'switch',
    false,
    'count blocks of output too',
    kvOnly,
  ),
  assumeKvReuse: setting('router-assume-kv-reuse', 'switch', true, 'equal blocks are shared', kvOnly),
  trackPrefillTokens: setting(
    'router-track-prefill-tokens',
    'switch',
    true,
    'count tokens in prefill',
    kvOnly,
  ),
}
