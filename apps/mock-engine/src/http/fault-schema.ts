import { z } from 'zod'
import { badRequest } from './api-error.js'

const afterChunks = z.int().min(0)

/** Which requests a fault is for. Without a path: every POST to the API of the model. */
const selectors = {
  path: z.string().startsWith('/').optional(),
  model: z.string().min(1).optional(),
  times: z.int().min(1).optional(),
  fraction: z.number().gt(0).max(1).optional(),
}

const schemas = {
  hang: z.strictObject({ kind: z.literal('hang'), after_chunks: afterChunks.optional(), ...selectors }),
  slow: z.strictObject({ kind: z.literal('slow'), delay_ms: z.number().min(0).max(3_600_000), ...selectors }),
  error: z.strictObject({
    kind: z.literal('error'),
    status: z.union([z.literal(400), z.literal(429), z.literal(500), z.literal(503)]),
    retry_after_seconds: z.int().min(0).max(3600).optional(),
    ...selectors,
  }),
  reset_before_headers: z.strictObject({ kind: z.literal('reset_before_headers'), ...selectors }),
  reset_after_headers: z.strictObject({ kind: z.literal('reset_after_headers'), ...selectors }),
  cut: z.strictObject({ kind: z.literal('cut'), after_chunks: afterChunks.optional(), ...selectors }),
  garbage: z.strictObject({ kind: z.literal('garbage'), after_chunks: afterChunks.optional(), ...selectors }),
  crash: z.strictObject({ kind: z.literal('crash'), after_chunks: afterChunks.optional(), ...selectors }),
  slow_engine: z.strictObject({ kind: z.literal('slow_engine'), factor: z.number().min(1).max(1e6) }),
  health_lies: z.strictObject({
    kind: z.literal('health_lies'),
    says: z.union([z.literal(200), z.literal(503)]),
  }),
  silent_events: z.strictObject({ kind: z.literal('silent_events') }),
  lost_events: z.strictObject({ kind: z.literal('lost_events'), fraction: z.number().gt(0).max(1) }),
}

type Schemas = typeof schemas

/** The kinds of faults. */
export const faultKinds = Object.keys(schemas) as readonly (keyof Schemas)[]

/** A fault, as it is asked for. Which fields a kind takes: the README. */
export type Fault = { [Kind in keyof Schemas]: z.infer<Schemas[Kind]> }[keyof Schemas]

/** A fault of single requests. */
export type RequestFault = Extract<
  Fault,
  {
    kind:
      | 'hang'
      | 'slow'
      | 'error'
      | 'reset_before_headers'
      | 'reset_after_headers'
      | 'cut'
      | 'garbage'
      | 'crash'
  }
>

/** Whether a fault meets single requests; the others change the engine as a whole. */
export function isRequestFault(fault: Fault): fault is RequestFault {
  return 'path' in schemas[fault.kind].shape
}

/** Checks a fault from outside. Throws an `ApiError` of status 400 that says what is accepted. */
export function parseFault(value: unknown): Fault {
  const kind = (value as { kind?: unknown } | null)?.kind
  if (typeof kind !== 'string' || !Object.hasOwn(schemas, kind))
    throw badRequest(`kind: got ${JSON.stringify(kind)}, accepted: ${faultKinds.join(', ')}`, 'kind')
  const schema = schemas[kind as keyof Schemas]
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const accepted = Object.keys(schema.shape).join(', ')
  const issues = result.error.issues.map(({ path, message }) =>
    [path.join('.'), message].filter(Boolean).join(': '),
  )
  throw badRequest(`${kind}: ${issues.join('; ')}; fields of ${kind}: ${accepted}`, kind)
}

/** Reads `kind` or `kind:field=value,field=value`, as the command line has it. Throws as `parseFault`. */
export function parseFaultText(text: string): Fault {
  const [, kind = '', fields] = /^([^:]*)(?::(.*))?$/su.exec(text)!
  const entries = (fields === undefined || fields === '' ? [] : fields.split(',')).map((field) => {
    const [, name = '', value] = /^([^=]*)=(.*)$/su.exec(field) ?? []
    if (value === undefined) throw badRequest(`'${field}' is not of the form field=value`)
    return [name.trim(), value.trim() !== '' && Number.isFinite(Number(value)) ? Number(value) : value]
  })
  return parseFault({ kind, ...Object.fromEntries(entries) })
}
