/** A way to route that the demo compares. */
export interface DemoPolicy {
  readonly name: string
  /** What `router serve` would be started with, without dashes; nothing = the default policy. */
  readonly flags: Readonly<Record<string, string>>
  /** Whether engines tell the router what they hold. Without, it believes what its own decisions suggest. */
  readonly usesKvEvents: boolean
}

const affinity = { policy: 'prefix-affinity' }

/** In the order of the tables. */
export const demoPolicies: readonly DemoPolicy[] = [
  { name: 'round-robin', flags: { 'router-mode': 'round-robin' }, usesKvEvents: false },
  { name: 'least-loaded', flags: { 'router-mode': 'least-loaded' }, usesKvEvents: false },
  { name: 'default', flags: {}, usesKvEvents: true },
  { name: 'default-approximate', flags: {}, usesKvEvents: false },
  { name: 'prefix-affinity', flags: affinity, usesKvEvents: true },
  { name: 'prefix-affinity-approximate', flags: affinity, usesKvEvents: false },
]
