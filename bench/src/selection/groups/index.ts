import { contractGroup } from './contract-group.js'
import { defaultGroup } from './default-group.js'
import type { Group } from './group.js'
import { holesGroup } from './holes-group.js'
import { customGroup, hostGroup } from './host-group.js'
import { sharedCacheGroup } from './shared-cache-group.js'
import { stackedGroup } from './stacked-group.js'

/** All groups, in the order in which they run. */
export const groups: readonly Group[] = [
  defaultGroup,
  holesGroup,
  contractGroup,
  stackedGroup,
  sharedCacheGroup,
  hostGroup,
  customGroup,
]
