import type { z } from 'zod'

/** Marks a request classifier. */
export const classifierMarker: unique symbol = Symbol.for('@router/sdk.classifier') as never

/** Marks a KV-hint policy. */
export const kvHintPolicyMarker: unique symbol = Symbol.for('@router/sdk.kv-hint-policy') as never

/** What the catalog needs of a request classifier; its run-time contract comes with the queue. */
export interface ClassifierDefinition {
  readonly [classifierMarker]: true
  readonly contractVersion: number
  readonly type: string
  readonly version: string
  readonly parameters: z.ZodType
}

/** What the catalog needs of a KV-hint policy; its run-time contract comes with KV hints. */
export interface KvHintPolicyDefinition {
  readonly [kvHintPolicyMarker]: true
  readonly contractVersion: number
  readonly type: string
  readonly version: string
  readonly parameters: z.ZodType
}
