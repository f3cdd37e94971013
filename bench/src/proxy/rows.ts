import { setTimeout as sleep } from 'node:timers/promises'
import type { FigureRow } from '../harness/figure.js'
import { abortRows } from './abort-rows.js'
import { addedFigure, addedUnderEvents, cpuFigure, rateFigure, volumes, withRig } from './measures.js'
import { type PromptForm, loadKinds, requestsOf } from './prompts.js'
import { selectionRows } from './selection-rows.js'

const ratio = 'x the floor'
const idleMs = 20_000
/** What starting left behind is collected by then: an idle process does so within half a minute. */
const settleMs = 40_000
const mebibyte = 2 ** 20

/** What the parts of a request take when nothing else runs on the machine. */
const whyNot = {
  short:
    'reading and booking take 12 us, relaying by undici less than the floor; the rest is what runs once a request',
  long: 'reading 8,192 ids takes 45 us, all else but the relay 40 us; of a text reading takes 25 us, booking 20 us',
  stream: 'looking at a chunk takes 0.4 us; the rest is relaying by undici, and 0.1 ms a request',
  added: 'as for the CPU of a short request, with caches that are cold',
}

function rowsOf(group: string, form: PromptForm): FigureRow[] {
  const cpu = (kind: 'short' | 'long' | 'stream', atMost: number): FigureRow => ({
    group,
    name: `CPU of ${loadKinds[kind].name}`,
    unit: ratio,
    reach: { atMost },
    whyNot: whyNot[kind],
    compute: () => withRig({ form }, (rig) => cpuFigure(rig, kind, form)),
  })
  return [
    cpu('short', 1.5),
    cpu('long', 1.6),
    cpu('stream', 1.2),
    {
      group,
      name: 'added p50',
      unit: ratio,
      reach: { atMost: 1.5 },
      whyNot: whyNot.added,
      compute: () => withRig({ form }, (rig) => addedFigure(rig, form)),
    },
    {
      group,
      name: 'requests/s on 32 connections',
      unit: ratio,
      reach: { atLeast: 0.8 },
      whyNot: whyNot.short,
      compute: () => withRig({ form }, (rig) => rateFigure(rig, form)),
    },
  ]
}

/** Rows of the `proxy` bench, in the order they are printed. */
export const proxyRows: readonly FigureRow[] = [
  ...rowsOf('approximate', 'text'),
  ...rowsOf('events and token ids', 'tokens'),
  {
    group: 'events and token ids',
    name: 'added p50 while 64 ranks publish 20 batches/s each',
    unit: 'x silent ranks',
    reach: { atMost: 1.2 },
    compute: () => withRig({ form: 'tokens', engines: 4, ranks: 16 }, (rig) => addedUnderEvents(rig, 20)),
  },
  {
    group: 'a router with 4 workers',
    name: 'CPU while idle',
    unit: 'ms/s',
    reach: { atMost: 4 },
    whyNot: 'probing 4 engines takes about 2 ms/s, watching the event loop 1 ms/s',
    compute: () =>
      withRig({ form: 'tokens' }, async ({ router }) => {
        await sleep(settleMs)
        const before = await router.usage()
        await sleep(idleMs)
        const after = await router.usage()
        return { value: (after.cpuUs - before.cpuUs) / idleMs }
      }),
  },
  {
    group: 'a router with 4 workers',
    name: 'resident memory after requests of all kinds',
    unit: 'MiB',
    reach: { atMost: 160 },
    whyNot:
      'node takes 40 MiB, the code 65 MiB, the young generation of the heap up to 48 MiB; the rest hangs on when it is collected',
    compute: () =>
      withRig({ form: 'tokens' }, async (rig) => {
        for (const kind of ['short', 'long', 'stream'] as const)
          for (const form of ['text', 'tokens'] as const) {
            const { warmUp, connections } = volumes[kind]
            await rig.overRouter.run(requestsOf(loadKinds[kind], form), 2 * warmUp, connections)
          }
        const { rssBytes } = await rig.router.usage()
        return { value: rssBytes / mebibyte }
      }),
  },
  ...abortRows,
  ...selectionRows,
]
