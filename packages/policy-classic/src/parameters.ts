import { z } from 'zod'

/** The parameters of every type of this package but `dynamo-device-aware-weighted`: none. */
export const noParameters = z.strictObject({})

/** Parameters of `dynamo-device-aware-weighted`, as written in the YAML. */
export const deviceAwareParameters = z.strictObject({
  /** How many times the load of a CPU worker an accelerator carries; unset = the router's `encoder_cuda_to_cpu_ratio`. */
  cuda_to_cpu_ratio: z.number().min(1).optional(),
})

/** Parsed parameters; what is absent is inherited. */
export type DeviceAwareParameters = z.output<typeof deviceAwareParameters>

/** The parameters that may change while running. */
export const runtimeParameters = [
  'cuda_to_cpu_ratio',
] as const satisfies readonly (keyof DeviceAwareParameters)[]
