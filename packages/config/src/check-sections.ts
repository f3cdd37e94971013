import { type WorkerSelectionConfig, workerRoles } from '@router/sdk'
import semver from 'semver'
import { type Fault, showList, showValue } from './issues.js'
import type { FileValues } from './schema.js'
import { suggest } from './suggest.js'

type Selection = NonNullable<FileValues['worker_selection']>
type Router = NonNullable<FileValues['router']>

/** Checks the keys of `worker_selection` against each other. */
export function checkWorkerSelection(selection: Selection): Fault[] {
  const path = ['worker_selection'] as const
  const instances = selection.instances ?? []
  const names = instances.map(({ name }) => name)
  const seen = new Set<string>()
  const faults: Fault[] = []
  for (const [index, { name, version }] of instances.entries()) {
    const place = [...path, 'instances', index, 'name']
    if (name === 'default') {
      const message = "the instance name 'default' is reserved for the built-in policy"
      faults.push({ path: place, message, value: name, accepted: 'another name' })
    }
    if (seen.has(name)) {
      faults.push({
        path: place,
        message: `duplicate instance name '${name}'`,
        value: name,
        accepted: 'a name once',
      })
    }
    seen.add(name)
    if (typeof version === 'string' && semver.validRange(version) === null) {
      const message = `'${version}' is no version range`
      faults.push({
        path: [...path, 'instances', index, 'version'],
        message,
        value: version,
        accepted: "a range as npm has them, like '>=1.2 <2' or '1.x'",
      })
    }
  }
  const accepted = ['default', ...names]
  for (const role of workerRoles) {
    const name = selection[role]
    if (typeof name !== 'string' || accepted.includes(name)) continue
    faults.push({
      code: 'ROUTER_POLICY_INSTANCE_UNKNOWN',
      path: [...path, role],
      message: `role ${role} names the unknown instance ${showValue(name)}`,
      value: name,
      accepted: showList(accepted),
      suggestion: suggest(name, accepted),
    })
  }
  if (instances.length === 0 && workerRoles.every((role) => typeof selection[role] !== 'string')) {
    const message = 'worker_selection selects nothing'
    faults.push({
      path,
      at: 'key',
      message,
      accepted: `at least one of instances, ${workerRoles.join(', ')}`,
    })
  }
  return faults
}

/** The section as the catalog takes it. */
export function toWorkerSelectionConfig({
  allow_alpha: allowAlpha,
  ...selection
}: Selection): WorkerSelectionConfig {
  return { ...(selection as WorkerSelectionConfig), ...(typeof allowAlpha === 'boolean' && { allowAlpha }) }
}

/** Refuses `type: default`. */
export function checkRequestClassifier({ type }: NonNullable<FileValues['request_classifier']>): Fault[] {
  const message = "the classifier type 'default' is reserved"
  return type === 'default'
    ? [{ path: ['request_classifier', 'type'], message, value: type, accepted: 'a registered type' }]
    : []
}

/** What this router does not offer: the only accepted value of each, and why. */
const refusedSettings: Partial<
  Record<keyof Router, { readonly accepted: unknown; readonly reason: string }>
> = {
  use_remote_indexer: { accepted: false, reason: 'a remote indexer is not offered' },
  serve_indexer: { accepted: false, reason: 'serving the index is not offered' },
  enable_session_prefix_index: { accepted: false, reason: 'the session prefix index is not offered' },
  router_tracking_hash: { accepted: 'public-xxh3-v1', reason: 'keyed tracking hashes are not offered' },
  router_tracking_key_file: { accepted: null, reason: 'keyed tracking hashes are not offered' },
  router_tracking_key_id: { accepted: null, reason: 'keyed tracking hashes are not offered' },
  router_prefill_load_model: { accepted: 'none', reason: 'this prefill load model is not offered' },
}

/** Refuses settings of features that this router does not offer, unless they are at their default. */
export function checkRouter(router: Router): Fault[] {
  return Object.entries(refusedSettings).flatMap(([key, { accepted, reason }]) => {
    const value = router[key as keyof Router]
    if (value === undefined || value === accepted) return []
    const message = `key '${key}' in router cannot be ${showValue(value)}: ${reason}`
    return [{ path: ['router', key], message, value, accepted: showValue(accepted) }]
  })
}
