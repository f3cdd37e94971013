import { RouterError, type WorkerCandidates, type WorkerInputs, workerInputNames } from '@router/sdk'
import type { HandMadeView } from './hand-made-view.js'
import { isColumn } from './view-columns.js'

/** One property that a component read, of the context, of the candidates or of a group of columns. */
export interface ViewRead {
  /** Kind and name of the reader. */
  readonly component: string
  /** `context`, `candidates` or the name of a group. */
  readonly object: string
  /** Name of the field. */
  readonly property: string
}

/** Watches reads and ends a view's life; either part may be left out. */
export interface ViewGuard {
  /** Called at each read; may throw, as a failing host would. */
  readonly onRead?: ((read: ViewRead) => void) | undefined
  /** False = the callback has returned: reading throws `ROUTER_VIEW_STALE`. */
  readonly isLive: () => boolean
}

/** The candidates as a component with these inputs sees them: a group outside `inputs` is `undefined`. */
export function gateGroups(view: HandMadeView, inputs: WorkerInputs): WorkerCandidates {
  const { workers: _hosts, ...gated } = view
  for (const name of workerInputNames) if (!inputs.includes(name)) Object.assign(gated, { [name]: undefined })
  return gated
}

/** A proxy over a context or candidates (and the groups inside) that reports reads and refuses them once stale. */
export function guardView<T extends object>(
  target: T,
  component: string,
  object: string,
  guard: ViewGuard,
): T {
  const members = new Map<string, object>()
  return new Proxy(target, {
    get: (view, property, receiver) => {
      const value: unknown = Reflect.get(view, property, receiver)
      if (typeof property !== 'string') return value
      if (!guard.isLive()) {
        const message = `${component} used ${object}.${property} after its callback had returned`
        throw new RouterError('ROUTER_VIEW_STALE', message, { component, object, property })
      }
      guard.onRead?.({ component, object, property })
      if (typeof value !== 'object' || value === null || isColumn(value)) return value
      const known = members.get(property)
      if (known !== undefined) return known
      const guarded = guardView(value, component, property, guard)
      members.set(property, guarded)
      return guarded
    },
  })
}
