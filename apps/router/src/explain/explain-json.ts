import type { ExplainedSelection } from './explain-report.js'

/** The explanation for programs: worker ids and other large integers as decimal strings, numbers unrounded. */
export function renderJson({
  policyFile,
  fleetFile,
  role,
  loaded,
  explanation,
  warnings,
  notes,
  writtenColumns,
}: ExplainedSelection): string {
  const { error, ...rest } = explanation
  const { name, origin } = loaded.roles[role]
  const document = {
    policyFile,
    fleetFile,
    role,
    instance: { name, origin },
    routerDefaults: loaded.routerDefaults,
    ...rest,
    ...(error !== undefined && {
      error: { code: error.code, message: error.message, details: error.details },
    }),
    warnings: [...loaded.warnings, ...warnings],
    notYetActive: loaded.notYetActive,
    notes,
    writtenColumns,
  }
  return JSON.stringify(
    document,
    (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
    2,
  )
}
