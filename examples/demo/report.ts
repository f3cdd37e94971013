import Table from 'cli-table3'
import type { Comparison } from './compare.js'
import type { Measured } from './measure.js'

const head = [
  'policy',
  'engines hit',
  'of ceiling',
  'router, by blocks',
  'router, by requests',
  'TTFT p50 / p95',
  'moved turns',
  'busiest / mean',
]

/** A comparison as lines of text. */
export function tableOf({
  description,
  requests,
  speedup,
  ceiling,
  policies,
  blockSize,
  blocksPerEngine,
}: Comparison): string {
  const table = new Table({
    head,
    style: { head: [], border: [], compact: true },
    colAligns: ['left', ...Array.from({ length: head.length - 1 }, () => 'right' as const)],
  })
  for (const each of policies) table.push(rowOf(each))
  const { promptTokens, cachedTokens, distinctBlocks } = ceiling
  return [
    `${description}: ${requests} requests, ${promptTokens} prompt tokens, ${Number(speedup.toFixed(1))} times faster than real`,
    `ceiling ${percent(cachedTokens / promptTokens)}: what a cache without an end would find`,
    `${distinctBlocks} distinct blocks of ${blockSize} tokens in all prompts; ${blocksPerEngine} blocks in the pool of each engine`,
    table.toString(),
  ].join('\n')
}

function rowOf(each: Measured): string[] {
  const { movedTurns, resumedTurns } = each
  return [
    each.policy,
    percent(each.hitRate),
    percent(each.ofCeiling),
    percent(each.blockWeightedRate),
    percent(each.requestWeightedRate),
    `${each.firstTokenP50Ms.toFixed(0)} / ${each.firstTokenP95Ms.toFixed(0)} ms`,
    resumedTurns === 0 ? '-' : `${movedTurns} of ${resumedTurns}`,
    each.busiestByMean.toFixed(2),
  ]
}

function percent(fraction: number | undefined): string {
  return fraction === undefined ? '-' : `${(100 * fraction).toFixed(1)} %`
}
