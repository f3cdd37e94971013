import { z } from 'zod'
import { caption, double, request, rowName, rows, tolerance } from './common.js'
import { defaultParameters } from './default-family.js'

/** A line of `default-cost.jsonl`: costs and ties of one policy of the default family over given rows. */
export const defaultCostLine = z
  .strictObject({
    ...caption,
    /** Left out or `default` = `dynamo-default-cost-fn`, the same policy under its own name. */
    policy: z.enum(['default', 'dynamo-default-cost-fn', 'prefix-affinity']).optional(),
    /** `prefill` and `test` are role prefill; `decode` is aggregated (or decode with conditional disaggregation) unless `plainDecode`. */
    label: z.enum(['prefill', 'decode', 'test']),
    /** Role decode without conditional disaggregation. */
    plainDecode: z.boolean(),
    params: defaultParameters,
    /** True = the cache group is gathered although these parameters do not use it. */
    reservesRuntimeInputs: z.boolean().optional(),
    request,
    /** In canonical order unless the note says otherwise. */
    rows,
    expect: z.strictObject({
      /** One per row. */
      costs: z.array(double).min(1),
      /** Every row of the lowest cost, in canonical order. */
      tieSet: z.array(rowName).min(1),
      /** Of the costs. */
      tolerance,
    }),
  })
  .refine(({ label, plainDecode }) => label === 'decode' || !plainDecode, {
    path: ['plainDecode'],
    message: 'plain decode has the label decode',
  })
export type DefaultCostLine = z.output<typeof defaultCostLine>
