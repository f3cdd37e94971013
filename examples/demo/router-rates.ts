/** What a router believed when it chose, as fractions; absent = its policy looks at no caches. */
export interface RouterRates {
  /** Sum of cached blocks by sum of blocks: comparable with what engines report. */
  readonly blockWeightedRate: number | undefined
  /** Mean over requests. */
  readonly requestWeightedRate: number | undefined
}

/** The rates of a router so far, from its metrics. */
export async function ratesOf(url: string): Promise<RouterRates> {
  const response = await fetch(`${url}/metrics`)
  if (!response.ok) throw new Error(`${response.status} for ${url}/metrics`)
  const text = await response.text()
  const quotient = (above: string, below: string): number | undefined => {
    const divisor = sumOf(text, below)
    return divisor === undefined || divisor === 0 ? undefined : sumOf(text, above)! / divisor
  }
  return {
    blockWeightedRate: quotient('router_kv_overlap_blocks_total', 'router_kv_isl_blocks_total'),
    requestWeightedRate: quotient('router_kv_hit_rate_sum', 'router_kv_hit_rate_count'),
  }
}

/** Of all series of a name; absent = there are none. */
function sumOf(text: string, name: string): number | undefined {
  const values = text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .map((line) => Number(line.slice(line.lastIndexOf(' ') + 1)))
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0)
}
