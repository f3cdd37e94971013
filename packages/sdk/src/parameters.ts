import { z } from 'zod'

const maxU64 = 2n ** 64n - 1n
const u64Message = 'expected an integer from 0 to 2^64 - 1, or its decimal digits as a string'

/** Schema of a finite double `>= 0`; -0 passes. */
export const nonNegative = (): z.ZodNumber => z.number().min(0)

/**
 * Schema of a u64, such as a seed: a safe integer (`1.0` is one), a bigint, or a string of 1 to 20 decimal digits. Kept as
 * bigint. A number beyond 2^53 - 1 is refused, because it was rounded before it came here.
 */
export const u64 = (): z.ZodType<bigint, bigint | number | string> =>
  z
    .union(
      [
        z.bigint().meta({ type: 'integer', minimum: 0 }),
        z.int().min(0).transform(BigInt),
        z
          .string()
          .regex(/^\d{1,20}$/u)
          .transform(BigInt),
      ],
      { error: u64Message },
    )
    .refine((value) => value >= 0n && value <= maxU64, u64Message)
