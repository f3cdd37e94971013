import { longestTimerSecs, setting } from './setting.js'

const ours = { alias: null, needs: 'main' } as const
const timeout = { ...ours, minimum: 0.001, maximum: longestTimerSecs }

/** Requests of the OpenAI API: tries, time-outs, prompts, models (host.md 14.2, 16.2, 17.0). */
export const requestSettings = {
  retryLimit: setting('retry-limit', 'integer', 2, 'further tries of a request, each on another worker', {
    ...ours,
    maximum: 100,
  }),
  connectTimeoutSecs: setting(
    'connect-timeout-secs',
    'number',
    2,
    'to connect to an engine, seconds',
    timeout,
  ),
  firstByteTimeoutSecs: setting(
    'first-byte-timeout-secs',
    'number',
    600,
    'until its first byte, seconds',
    timeout,
  ),
  idleTimeoutSecs: setting('idle-timeout-secs', 'number', 300, 'between its bytes, seconds', timeout),
  requestTimeoutSecs: setting(
    'request-timeout-secs',
    'number',
    1800,
    'for a request with all its tries, seconds',
    timeout,
  ),
  upstreamKeepAliveSecs: setting(
    'upstream-keep-alive-secs',
    'number',
    4,
    'idle engine connections are kept, seconds',
    { ...ours, maximum: longestTimerSecs },
  ),
  sseKeepAliveMs: setting(
    'http-sse-keep-alive-interval-ms',
    'integer',
    0,
    'comments in silent streams, ms; 0 = none',
    {
      maximum: 2_147_483_647,
    },
  ),
  tokenizers: setting('tokenizer', 'pairs', undefined, 'folder of a tokenizer; else that of the model path', {
    ...ours,
    pattern: /^(?:[^=]+=)?[^=]+$/,
    accepts: 'FOLDER, or MODEL=FOLDER, each model once',
  }),
  chatTemplate: setting(
    'chat-template',
    'text',
    undefined,
    'file with a chat template; else that of the tokenizer',
    ours,
  ),
  tokenizeBudgetMs: setting('tokenize-budget-ms', 'number', 100, 'time for the tokens of a prompt, ms', {
    ...ours,
    minimum: 1,
    maximum: 2_147_483_647,
  }),
  modelAliases: setting('model-alias', 'pairs', undefined, 'another name for a model; else there is none', {
    ...ours,
    pattern: /^[^=]+=[^=]+$/,
    accepts: 'ALIAS=MODEL, each alias once',
  }),
  disableNvext: setting('disable-nvext', 'switch', false, 'nvext of bodies counts for nothing', {
    alias: 'DYN_DISABLE_FRONTEND_NVEXT',
  }),
  injectUsage: setting('inject-usage', 'switch', true, 'streams are asked for their usage', ours),
}
