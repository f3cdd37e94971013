import { DEVICE, DISK, EXTERNAL, HOST_PINNED } from '@router/kv-index'

const TIER_OF_MEDIUM: ReadonlyMap<string, number> = new Map([
  ['GPU', DEVICE],
  ['DEVICE', DEVICE],
  ['CPU', HOST_PINNED],
  ['CPU_PINNED', HOST_PINNED],
  ['CPU_TIER1', HOST_PINNED],
  ['CPU_TIER2', DISK],
  ['DISK', DISK],
  ['NVME', DISK],
  ['STORAGE', DISK],
  ['EXTERNAL', EXTERNAL],
  ['NETWORK', EXTERNAL],
  ['REMOTE', EXTERNAL],
  ['SHARED', EXTERNAL],
])

/** Tier of a medium, written exactly as engines do; absent = device, -1 = nobody knows the medium. */
export function tierOf(medium: string | undefined): number {
  return medium === undefined ? DEVICE : (TIER_OF_MEDIUM.get(medium) ?? -1)
}
