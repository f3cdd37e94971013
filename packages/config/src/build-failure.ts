import { type CatalogError, ConfigError, type ConfigIssue, type ResolvedPolicy } from '@router/sdk'
import { formatIssues } from './issues.js'
import type { LoadedRouterPolicy } from './load-router-policy.js'

/**
 * What a failure to build a configured policy (`createSelector` of the core throws it) means for the configuration: a
 * `ConfigError` with the code of the failure that names instance, type and package, and where the file has the instance.
 */
export function explainBuildFailure(
  { policyFile, locate }: Pick<LoadedRouterPolicy, 'policyFile' | 'locate'>,
  { name, definition }: ResolvedPolicy,
  cause: CatalogError,
): ConfigError {
  const index = policyFile?.workerSelection?.instances?.findIndex((instance) => instance.name === name) ?? -1
  const path = index === -1 ? [] : ['worker_selection', 'instances', index]
  const source = definition.package === undefined ? '' : ` of package ${definition.package}`
  const subject = index === -1 ? `built-in policy '${name}'` : `instance '${name}'`
  const message = `${subject}, type ${definition.type} ${definition.version}${source}, cannot be built: ${cause.message}`
  const issue: ConfigIssue = {
    code: cause.code,
    message,
    path,
    value: name,
    ...(index !== -1 && { file: policyFile!.file, ...locate(path) }),
  }
  return new ConfigError(cause.code, formatIssues([issue]), [issue], { cause })
}
