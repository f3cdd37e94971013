import { RouterError } from '@router/sdk'

type AnyFunction = (...inputs: unknown[]) => unknown

/** Wraps what a callback is given, so that using it after the callback throws `ROUTER_VIEW_STALE`. For tests; allocates. */
export class ViewGuard {
  #isOpen = true
  readonly #proxies = new WeakMap<object, object>()

  close(): void {
    this.#isOpen = false
  }

  wrap<T extends object>(target: T): T {
    const known = this.#proxies.get(target)
    if (known !== undefined) return known as T
    const proxy = new Proxy(target, {
      get: (object, key) => {
        this.#check(key)
        // Typed arrays answer only with themselves as receiver.
        const value: unknown = Reflect.get(object, key)
        if (typeof value === 'function') return this.#guarded(object, key, value as AnyFunction)
        return isWrappable(value) ? this.wrap(value) : value
      },
      set: (object, key, value) => {
        this.#check(key)
        return Reflect.set(object, key, value)
      },
    })
    this.#proxies.set(target, proxy)
    return proxy
  }

  /** A function of the target, which may be kept as well as what it returns. */
  #guarded(target: object, key: PropertyKey, call: AnyFunction): AnyFunction {
    return (...inputs) => {
      this.#check(key)
      const result = call.apply(target, inputs)
      return isWrappable(result) ? this.wrap(result) : result
    }
  }

  #check(key: PropertyKey): void {
    if (this.#isOpen) return
    throw new RouterError(
      'ROUTER_VIEW_STALE',
      `'${String(key)}' was read from a view after its callback returned`,
      { key },
    )
  }
}

/** A buffer stays itself: typed arrays over a proxy of it would be empty. */
function isWrappable(value: unknown): value is object {
  return (
    typeof value === 'object' && value !== null && !(value instanceof ArrayBuffer) && !Object.isFrozen(value)
  )
}
