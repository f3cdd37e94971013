import type { FigureRow } from '../harness/figure.js'
import { median } from '../harness/statistics.js'
import { modelName } from './instant-engine.js'
import { Load } from './load.js'
import { cpuUsOf, inTurns, withRig } from './measures.js'
import { tokensOf } from './prompts.js'
import type { Rig } from './rig.js'

const workers = 64
const distinct = 16
const volume = { turns: 9, requests: 600, warmUp: 4000, connections: 8 }

function row(tokens: number, atMost: number): FigureRow {
  return {
    group: `selection API, ${workers} workers that hold the prompt`,
    name: `CPU of /select, ${tokens.toLocaleString('en')} token ids`,
    unit: 'us',
    reach: { atMost },
    whyNot: 'a bare server of node:http takes 28 us and 105 us for these bodies, reading an id 5.5 ns',
    compute: () =>
      withRig({ form: 'tokens', engines: workers }, async (rig) => ({ value: await selectUs(rig, tokens) })),
  }
}

/** CPU of the router for a selection. */
async function selectUs(rig: Rig, tokens: number): Promise<number> {
  await rig.hold(tokensOf(tokens, 0))
  const load = new Load(rig.router.facts.selectionUrl)
  try {
    const bodies = Array.from({ length: distinct }, (_, turn) =>
      Buffer.from(JSON.stringify({ model_name: modelName, token_ids: tokensOf(tokens, turn) })),
    )
    const request = { path: '/select', bodies }
    await load.run(request, volume.warmUp, volume.connections)
    const [us] = await inTurns(volume.turns, [() => cpuUsOf(rig.router, load, request, volume)])
    return median(us!)
  } finally {
    await load.close()
  }
}

export const selectionRows: readonly FigureRow[] = [row(2048, 100), row(16_384, 640)]
