import { type LoadedRouterPolicy, explainBuildFailure } from '@router/config'
import { type Selector, type SelectorOptions, createSelector } from '@router/core'
import { CatalogError, type ResolvedPolicy } from '@router/sdk'

/** A selector of a configured policy. Error: `ConfigError` with the place of an instance that cannot be built. */
export function buildSelector(
  loaded: LoadedRouterPolicy,
  options: SelectorOptions & { readonly policy: ResolvedPolicy },
): Selector {
  try {
    return createSelector(options)
  } catch (error) {
    throw CatalogError.isInstance(error) ? explainBuildFailure(loaded, options.policy, error) : error
  }
}
