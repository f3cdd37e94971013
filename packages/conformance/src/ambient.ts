/** Names of the ambient clocks and random sources that were used while a callback ran. */
export type AmbientUse = string

type Restore = () => void

/**
 * Runs `callback` with the ambient clocks and random sources of the platform replaced by ones that note their use and throw.
 * Everything is restored before this returns or throws. `new Date(value)` and `Date.parse` are pure and stay.
 */
export function withoutAmbient<T>(callback: () => T, onUse: (use: AmbientUse) => void): T {
  const use = (name: string): never => {
    onUse(name)
    throw new Error(`${name} is ambient: use scope.nowMs() and scope.random()`)
  }
  const restores: Restore[] = []
  try {
    for (const [holder, key, name] of ambientFunctions()) restores.push(replace(holder, key, () => use(name)))
    restores.push(replace(globalThis, 'Date', ambientFreeDate(use)))
    return callback()
  } finally {
    for (const restore of restores.reverse()) restore()
  }
}

function ambientFunctions(): [object, string, string][] {
  const platform = globalThis as Record<string, unknown>
  const candidates: [unknown, string, string][] = [
    [Math, 'random', 'Math.random'],
    [platform['performance'], 'now', 'performance.now'],
    [platform['crypto'], 'getRandomValues', 'crypto.getRandomValues'],
    [platform['crypto'], 'randomUUID', 'crypto.randomUUID'],
    [platform['process'], 'hrtime', 'process.hrtime'],
    [platform['process'], 'uptime', 'process.uptime'],
  ]
  return candidates.filter((entry): entry is [object, string, string] => {
    const [holder, key] = entry
    return typeof (holder as Record<string, unknown> | undefined)?.[key] === 'function'
  })
}

function ambientFreeDate(use: (name: string) => never): DateConstructor {
  return new Proxy(Date, {
    apply: () => use('Date()'),
    construct: (target, values, newTarget) =>
      values.length === 0 ? use('new Date()') : (Reflect.construct(target, values, newTarget) as object),
    get: (target, key, receiver) =>
      key === 'now' ? () => use('Date.now') : (Reflect.get(target, key, receiver) as unknown),
  })
}

function replace(holder: object, key: string, value: unknown): Restore {
  const own = Object.getOwnPropertyDescriptor(holder, key)
  Object.defineProperty(holder, key, {
    value,
    configurable: true,
    writable: true,
    enumerable: own?.enumerable ?? false,
  })
  return () => {
    if (own === undefined) Reflect.deleteProperty(holder, key)
    else Object.defineProperty(holder, key, own)
  }
}
