import { z } from 'zod'
import { type ErrorShape, ApiError } from './api-error.js'

const count = z.int().min(0)
/** 64 bits as the real engine has it, more than a double holds exactly. */
const seed = z.number().refine(Number.isInteger, 'expected int')
const tokenIds = z.array(z.int().min(0))
const strings = z.union([z.string(), z.array(z.string())])
const message = z.record(z.string(), z.unknown()).and(z.object({ role: z.string() }))
const messages = z.array(message)
const anyObject = z.record(z.string(), z.unknown())
/** As templates get them from the real engine: these fields in this order, null where there is none, then the others. */
const tools = z.array(
  z.looseObject({
    type: z.literal('function').default('function'),
    function: z.looseObject({
      name: z.string(),
      description: z.string().nullable().default(null),
      parameters: anyObject.nullable().default(null),
    }),
  }),
)

/** What every generation may say; fields that nothing here depends on are let through, as the real engine does. */
const generation = {
  model: z.string().nullish(),
  max_tokens: count.nullish(),
  min_tokens: count.nullish(),
  n: z.int().min(1).max(128).nullish(),
  seed: seed.nullish(),
  stop: strings.nullish(),
  stop_token_ids: tokenIds.nullish(),
  include_stop_str_in_output: z.boolean().nullish(),
  ignore_eos: z.boolean().nullish(),
  temperature: z.number().min(0).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z
    .looseObject({ include_usage: z.boolean().nullish(), continuous_usage_stats: z.boolean().nullish() })
    .nullish(),
  response_format: z.looseObject({ type: z.string(), json_schema: anyObject.nullish() }).nullish(),
  guided_json: z.union([z.string(), anyObject]).nullish(),
  guided_choice: z.array(z.string()).min(1).nullish(),
  structured_outputs: z
    .looseObject({
      json: z.union([z.string(), anyObject]).nullish(),
      choice: z.array(z.string()).min(1).nullish(),
      json_object: z.boolean().nullish(),
    })
    .nullish(),
  truncate_prompt_tokens: z.int().min(-1).nullish(),
  cache_salt: z.string().min(1).nullish(),
  request_id: z.string().nullish(),
  return_token_ids: z.boolean().nullish(),
  data_parallel_rank: count.nullish(),
}

/** How a conversation becomes a prompt. */
const templating = {
  add_generation_prompt: z.boolean().nullish(),
  continue_final_message: z.boolean().nullish(),
  add_special_tokens: z.boolean().nullish(),
  chat_template: z.string().nullish(),
  chat_template_kwargs: anyObject.nullish(),
  documents: z.array(z.unknown()).nullish(),
}

/** `POST /v1/chat/completions`. */
export const chatBody = z.looseObject({
  ...generation,
  ...templating,
  messages,
  max_completion_tokens: count.nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).nullish(),
  echo: z.boolean().nullish(),
  tools: tools.nullish(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: z.string() }) }),
    ])
    .nullish(),
})

const prompts = z.union([z.string(), tokenIds, z.array(z.string()), z.array(tokenIds)])

/** `POST /v1/completions`. */
export const completionBody = z.looseObject({
  ...generation,
  prompt: prompts,
  best_of: z.int().min(1).max(128).nullish(),
  echo: z.boolean().nullish(),
  suffix: z.string().nullish(),
  logprobs: z.int().min(0).nullish(),
  add_special_tokens: z.boolean().nullish(),
})

const pooled = {
  model: z.string().nullish(),
  truncate_prompt_tokens: z.int().min(-1).nullish(),
  cache_salt: z.string().min(1).nullish(),
  data_parallel_rank: count.nullish(),
  add_special_tokens: z.boolean().nullish(),
}

/** `POST /v1/embeddings` and `/pooling`: inputs or a conversation. */
export const embeddingBody = z.looseObject({
  ...pooled,
  ...templating,
  input: prompts.nullish(),
  messages: messages.nullish(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().min(1).nullish(),
})

/** `POST /rerank`. */
export const rerankBody = z.looseObject({
  ...pooled,
  query: z.string(),
  documents: z.array(z.string()),
  top_n: z.int().nullish(),
})

/** `POST /score`. */
export const scoreBody = z.looseObject({ ...pooled, text_1: strings, text_2: strings })

/** `POST /tokenize`: a prompt or a conversation. */
export const tokenizeBody = z.looseObject({
  ...templating,
  model: z.string().nullish(),
  prompt: z.string().nullish(),
  messages: messages.nullish(),
  tools: tools.nullish(),
  return_token_strs: z.boolean().nullish(),
})

/** `POST /detokenize`. */
export const detokenizeBody = z.looseObject({ model: z.string().nullish(), tokens: tokenIds })

/** `POST /v1/responses`. */
export const responsesBody = z.looseObject({
  model: z.string().nullish(),
  input: z.union([z.string(), z.array(anyObject)]),
  instructions: z.string().nullish(),
  previous_response_id: z.string().nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  temperature: z.number().min(0).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  stream: z.boolean().nullish(),
  background: z.boolean().nullish(),
  store: z.boolean().nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  tools: z.array(z.looseObject({ type: z.string() })).nullish(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.looseObject({ type: z.string(), name: z.string().nullish() }),
    ])
    .nullish(),
  text: z.looseObject({ format: anyObject.nullish() }).nullish(),
  cache_salt: z.string().min(1).nullish(),
  request_id: z.string().nullish(),
})

const anthropicBlocks = z.union([z.string(), z.array(z.looseObject({ type: z.string() }))])

/** `POST /v1/messages/count_tokens`. */
export const countTokensBody = z.looseObject({
  model: z.string(),
  messages: z
    .array(z.looseObject({ role: z.enum(['user', 'assistant', 'system']), content: anthropicBlocks }))
    .min(1),
  system: anthropicBlocks.nullish(),
  tools: z.array(z.looseObject({ name: z.string(), input_schema: anyObject.nullish() })).nullish(),
  tool_choice: z
    .looseObject({ type: z.enum(['auto', 'any', 'tool', 'none']), name: z.string().nullish() })
    .nullish(),
})

/** `POST /v1/messages`. */
export const messagesBody = z.looseObject({
  ...countTokensBody.shape,
  max_tokens: z.int().min(1),
  stop_sequences: z.array(z.string()).nullish(),
  stream: z.boolean().nullish(),
  cache_salt: z.string().min(1).nullish(),
})

/** Checks a body. Throws an `ApiError` of status 400 that names each fault, in the words of the endpoint's engine. */
export function parseBody<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
  shape: ErrorShape,
): z.infer<Schema> {
  const result = schema.safeParse(body)
  if (result.success) return result.data
  const issues = result.error.issues.map((issue) => {
    const where = ['body', ...issue.path].join('.')
    return `${where}: ${issue.message}`
  })
  const param = result.error.issues[0]?.path.join('.') ?? null
  const plural = issues.length === 1 ? '' : 's'
  throw new ApiError(
    400,
    shape === 'sglang' ? 'BadRequestError' : 'Bad Request',
    `${issues.length} validation error${plural}:\n  ${issues.join('\n  ')}`,
    { param: param === '' ? null : param },
  )
}
