export { explainBuildFailure } from './build-failure.js'
export * from './inactive-settings.js'
export { type ConfigPath, formatIssues, showPath } from './issues.js'
export {
  type JsonSchema,
  inputSchemaOf,
  routerPolicyJsonSchema,
  routerPolicyJsonSchemaText,
} from './json-schema.js'
export * from './load-router-policy.js'
export { parseRouterPolicy } from './parse-router-policy.js'
export { readTextFile } from './node-edge.js'
export * from './policy-file.js'
export { printable, printableLines } from './printable.js'
export { type PolicyPackage, loadPolicyPackage } from './policy-packages.js'
export { type RoleChoice } from './role-selection.js'
export { overlapWeightDefaults } from './router-defaults.js'
export { type ConfigWarning, type Environment, type FlagTexts } from './setting-reader.js'
export { type SourcePosition } from './yaml-source.js'
export { type SettingDefinition, selectionSettings } from './settings.js'
export { parseStrictYaml } from './strict-yaml.js'
export { suggest } from './suggest.js'
