import { PrefixIndex } from '@router/kv-index'
import { rustIndexLine } from '../shapes/rust-index-lines.js'
import { defineFamily } from './family.js'
import { kindsOf } from './kinds.js'
import { evaluateApproximateLru, evaluateApproximateTtl } from './rust-index-approximate.js'
import { type IndexFactory, evaluateIndexEvents } from './rust-index-events.js'

const create: IndexFactory = (options) => new PrefixIndex(options)

/** What the index makes of events, and of its own decisions where there are none. */
export const rustIndexFamily = defineFamily({
  name: 'rust-index',
  recognises: kindsOf(rustIndexLine),
  covers: '@router/kv-index',
  schema: rustIndexLine,
  evaluate: (line, checks) => {
    if (line.kind === 'events') evaluateIndexEvents(line, checks, create)
    else if (line.kind === 'approximate-lru') evaluateApproximateLru(line, checks, create)
    else evaluateApproximateTtl(line, checks, create)
  },
})
