import { type WorkerRole, type WorkerSelectionConfig, workerRoles } from '@router/sdk'
import type { Given, SettingReader } from './setting-reader.js'
import { selectionSettings } from './settings.js'

/** What serves a role: an instance name, or `default` for the built-in policy. */
export interface RoleChoice {
  readonly name: string
  /** A flag, a variable, `worker_selection.decode` of the file, or `built-in`. */
  readonly origin: string
}

/**
 * Which instance serves each role: its own flag or variable (prefill and decode), the setting for every role, the file, the
 * built-in policy. `default` at any level means the built-in policy. Roles never fall back to each other.
 */
export function selectRoles(
  reader: SettingReader,
  selection: WorkerSelectionConfig | undefined,
): Record<WorkerRole, RoleChoice> {
  const shared = reader.read(selectionSettings.workerSelectionPolicy)
  const own: Partial<Record<WorkerRole, Given | undefined>> = {
    prefill: reader.read(selectionSettings.prefillPolicy),
    decode: reader.read(selectionSettings.decodePolicy),
  }
  const choices = workerRoles.map((role): [WorkerRole, RoleChoice] => {
    const given = own[role] ?? shared
    if (given !== undefined) return [role, { name: String(given.value), origin: given.origin }]
    const name = selection?.[role]
    return [
      role,
      name === undefined
        ? { name: 'default', origin: 'built-in' }
        : { name, origin: `worker_selection.${role}` },
    ]
  })
  return Object.fromEntries(choices) as Record<WorkerRole, RoleChoice>
}
