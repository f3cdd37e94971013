import { type Command, InvalidArgumentError } from 'commander'
import type { Flavour } from './engine/serving.js'
import { MockEngineError } from './errors.js'
import { hashForms } from './events/batch-encoding.js'
import type { EventOptions } from './events/rank-publisher.js'
import { type Fault, faultKinds, parseFaultText } from './http/fault-schema.js'
import type { MockEngineOptions } from './options.js'

/** The flags as they were given; absent = the default of the engine. */
export interface CommandFlags {
  readonly host: string
  readonly port: number
  readonly flavour?: Flavour
  readonly model?: readonly string[]
  readonly modelFolder?: string
  readonly writeModel?: string
  readonly lora?: readonly { readonly name: string; readonly path: string }[]
  readonly dataParallelSize?: number
  readonly blockSize?: number
  readonly numGpuBlocks?: number
  readonly maxNumSeqs?: number
  readonly maxNumBatchedTokens?: number
  readonly maxModelLen?: number
  readonly prefixCaching: boolean
  readonly chunkedPrefill: boolean
  readonly speedup?: number
  readonly prefillMs?: number
  readonly decodeMs?: number
  readonly kvEvents?: string
  readonly kvEventsReplay?: string
  readonly kvEventsTopic?: string
  readonly kvEventsHashes?: EventOptions['hashes']
  readonly replyTokens?: number
  readonly promptTokensDetails: boolean
  readonly embeddingDimensions?: number
  readonly imageTokens?: number
  readonly maxLogprobs?: number
  readonly requestIdHeaders?: boolean
  readonly recordRequests?: number
  readonly keepAliveMs?: number
  readonly seed?: number
  readonly fault?: readonly Fault[]
  readonly json?: boolean
}

/** Adds every flag to the command. */
export function addFlags(program: Command): void {
  program
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on; 0 = any free one', whole(0, 65_535), 8000)
    .option(
      '--flavour <engine>',
      'which engine it looks like: vllm (default) or sglang',
      oneOf('vllm', 'sglang'),
    )
    .option(
      '--model <name>',
      'name that requests ask for; may be repeated (default: mock-model)',
      list(String),
    )
    .option(
      '--model-folder <folder>',
      'Hugging Face folder with tokenizer and chat template (default: a small built-in model)',
    )
    .option('--write-model <folder>', 'write the built-in tokenizer and chat template to a folder, and end')
    .option('--lora <name[=path]>', 'LoRA adapter; may be repeated', list(adapter))
    .option('--data-parallel-size <count>', 'data-parallel ranks (default: 1)', whole(1, 1024))
    .option('--block-size <tokens>', 'tokens of a KV block (default: 16)', whole(2, 65_536))
    .option('--num-gpu-blocks <count>', 'KV blocks of a rank (default: 2048)', whole(1, 2 ** 24))
    .option('--max-num-seqs <count>', 'requests that run at once on a rank (default: 256)', whole(1, 65_536))
    .option('--max-num-batched-tokens <count>', 'tokens of one pass (default: 8192)', whole(1, 2 ** 30))
    .option(
      '--max-model-len <tokens>',
      'context of the model (default: 32768, or what a rank holds)',
      whole(1, 2 ** 30),
    )
    .option('--no-prefix-caching', 'forget every prompt')
    .option('--no-chunked-prefill', 'run a prompt in one pass or not at all')
    .option('--speedup <factor>', 'how many times faster than real time (default: 1)', positive)
    .option(
      '--prefill-ms <ms>',
      'a pass with prompts takes so long (default: as a model of real GPUs says; 0 with --decode-ms)',
      milliseconds,
    )
    .option(
      '--decode-ms <ms>',
      'a pass that only generates takes so long (default: the same; 0 with --prefill-ms)',
      milliseconds,
    )
    .option(
      '--kv-events <endpoint>',
      'publish KV events over ZMQ, as "tcp://*:5557"; rank r has the port plus r',
    )
    .option('--kv-events-replay <endpoint>', 'answer who missed events, as "tcp://*:5657"')
    .option('--kv-events-topic <text>', 'topic of the events (default: empty)')
    .option(
      '--kv-events-hashes <form>',
      `form of block hashes: ${hashForms.join(', ')} (default: as the flavour)`,
      oneOf(...hashForms),
    )
    .option(
      '--reply-tokens <count>',
      'tokens of an answer that nothing else bounds (default: 32)',
      whole(1, 1_000_000),
    )
    .option('--no-prompt-tokens-details', 'leave the cached tokens out of usage')
    .option('--embedding-dimensions <count>', 'size of an embedding (default: 64)', whole(1, 65_536))
    .option('--image-tokens <count>', 'tokens of an image in a prompt (default: 64)', whole(1, 65_536))
    .option('--max-logprobs <count>', 'log probabilities that may be asked for (default: 20)', whole(0, 1000))
    .option('--request-id-headers', 'answer with X-Request-Id')
    .option(
      '--record-requests <count>',
      'keep the last requests byte by byte for GET /admin/requests (default: 0)',
      whole(0, 100_000),
    )
    .option(
      '--keep-alive-ms <ms>',
      'close connections that are idle for so long (default: 5000)',
      whole(1, 3_600_000),
    )
    .option(
      '--seed <number>',
      'decides which requests a fault with a fraction meets (default: 0)',
      whole(0, 0xffff_ffff),
    )
    .option(
      '--fault <kind[:field=value,...]>',
      `a fault from the start; may be repeated: ${faultKinds.join(', ')}`,
      list(fault),
    )
    .option('--json', 'print one line of JSON when it listens')
}

/** Flags as options of the engine. Throws `MOCK_ENGINE_OPTION_INVALID` for flags that need others. */
export function engineOptionsOf(flags: CommandFlags): MockEngineOptions {
  const eventFlags = [flags.kvEventsReplay, flags.kvEventsTopic, flags.kvEventsHashes]
  if (flags.kvEvents === undefined && eventFlags.some((flag) => flag !== undefined))
    throw new MockEngineError(
      'MOCK_ENGINE_OPTION_INVALID',
      '--kv-events-replay, --kv-events-topic and --kv-events-hashes need --kv-events',
    )
  const hasTiming = flags.prefillMs !== undefined || flags.decodeMs !== undefined
  return {
    host: flags.host,
    port: flags.port,
    flavour: flags.flavour,
    model: flags.model,
    modelFolder: flags.modelFolder,
    loraAdapters: flags.lora,
    ranks: flags.dataParallelSize,
    blockSize: flags.blockSize,
    blocksPerRank: flags.numGpuBlocks,
    maxRunning: flags.maxNumSeqs,
    maxPassTokens: flags.maxNumBatchedTokens,
    maxModelTokens: flags.maxModelLen,
    cachesPrefixes: flags.prefixCaching,
    chunksPrefill: flags.chunkedPrefill,
    speedup: flags.speedup,
    timing: hasTiming
      ? { type: 'fixed', prefill_ms: flags.prefillMs ?? 0, decode_ms: flags.decodeMs ?? 0 }
      : undefined,
    events:
      flags.kvEvents === undefined
        ? undefined
        : {
            endpoint: flags.kvEvents,
            replayEndpoint: flags.kvEventsReplay,
            topic: flags.kvEventsTopic,
            hashes: flags.kvEventsHashes,
          },
    replyTokens: flags.replyTokens,
    promptTokensDetails: flags.promptTokensDetails,
    embeddingDimensions: flags.embeddingDimensions,
    imageTokens: flags.imageTokens,
    maxLogprobs: flags.maxLogprobs,
    requestIdHeaders: flags.requestIdHeaders,
    recordRequests: flags.recordRequests,
    keepAliveMs: flags.keepAliveMs,
    seed: flags.seed,
    faults: flags.fault,
  }
}

function whole(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/u.test(text) || value < least || value > most)
      throw new InvalidArgumentError(`Accepted: a whole number from ${least} to ${most}.`)
    return value
  }
}

function positive(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !(value > 0 && value <= 1e9))
    throw new InvalidArgumentError('Accepted: a number above 0, up to 1e9.')
  return value
}

function milliseconds(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !(value >= 0 && value <= 1e9))
    throw new InvalidArgumentError('Accepted: a number from 0 to 1e9.')
  return value
}

function oneOf<Choice extends string>(...choices: readonly Choice[]): (text: string) => Choice {
  return (text) => {
    const found = choices.find((choice) => choice === text)
    if (found === undefined) throw new InvalidArgumentError(`Accepted: ${choices.join(', ')}.`)
    return found
  }
}

function list<Item>(
  read: (text: string) => Item,
): (text: string, before: readonly Item[] | undefined) => Item[] {
  return (text, before) => [...(before ?? []), read(text)]
}

function adapter(text: string): { name: string; path: string } {
  const [, name = '', path = name] = /^([^=]*)(?:=(.*))?$/su.exec(text)!
  if (name === '' || path === '') throw new InvalidArgumentError('Accepted: name, or name=path.')
  return { name, path }
}

function fault(text: string): Fault {
  try {
    return parseFaultText(text)
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}
