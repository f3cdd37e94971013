import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Command, CommanderError } from 'commander'
import type { createColors } from 'picocolors'
import { helpExamples } from './cli-examples.js'
import { type CommandFlags, addFlags, engineOptionsOf } from './cli-flags.js'
import { MockEngineError } from './errors.js'
import { type MockEngine, startMockEngine } from './http/mock-engine.js'
import { modelFolderPath } from './model/built-in-model.js'

/** What the command may touch of its process; tests hand in their own. */
export interface CommandContext {
  /** Writes a line, or several, to standard output. */
  readonly write: (text: string) => void
  readonly writeError: (text: string) => void
  readonly colors: ReturnType<typeof createColors>
  /** Sets the exit code; does not end the process. */
  readonly exit: (code: number) => void
  /** Ends the process at once. */
  readonly die: (code: number) => void
  /** Calls back for every signal to end, SIGINT or SIGTERM. */
  readonly onSignal: (listener: (signal: string) => void) => void
}

/**
 * Runs `router-mock-engine` with arguments, until it is told to end. Sets the exit code: 0 done, 1 it could not start or crashed, 2 wrong
 * use. Never throws for those.
 */
export async function runCli(args: readonly string[], context: CommandContext): Promise<void> {
  const program = new Command('router-mock-engine')
    .description('a simulated vLLM or SGLang server for testing routers; no GPU')
    .version(__PACKAGE_VERSION__)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.write(text.trimEnd()),
      writeErr: (text) => context.writeError(text.trimEnd()),
    })
    .allowExcessArguments(false)
    .showHelpAfterError('see router-mock-engine --help')
    .addHelpText('after', `\n${helpExamples}`)
  addFlags(program)
  try {
    program.parse(args, { from: 'user' })
    const flags = program.opts<CommandFlags>()
    if (flags.writeModel !== undefined) await writeModel(flags.writeModel, context)
    else await serve(flags, context)
  } catch (error) {
    if (error instanceof CommanderError) context.exit(error.exitCode === 0 ? 0 : 2)
    else if (MockEngineError.isInstance(error)) {
      context.writeError(`${context.colors.red('error')}: ${error.message} (${error.code})`)
      context.exit(error.code === 'MOCK_ENGINE_OPTION_INVALID' ? 2 : 1)
    } else throw error
  }
}

async function writeModel(folder: string, context: CommandContext): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
    for (const name of await readdir(modelFolderPath))
      await copyOnce(join(modelFolderPath, name), join(folder, name))
  } catch (error) {
    context.writeError(`${context.colors.red('error')}: cannot write the model: ${(error as Error).message}`)
    context.exit(1)
    return
  }
  context.write(`tokenizer and chat template written to ${folder}`)
}

/** Throws where another file has that name. */
async function copyOnce(source: string, target: string): Promise<void> {
  const content = await readFile(source)
  const existing = await readFile(target).catch(() => undefined)
  if (existing === undefined) await writeFile(target, content, { flag: 'wx' })
  else if (!existing.equals(content)) throw new Error(`${target} exists already, and is another file`)
}

async function serve(flags: CommandFlags, context: CommandContext): Promise<void> {
  const engine = await startMockEngine(engineOptionsOf(flags))
  let signals = 0
  context.onSignal((signal) => {
    if (++signals > 1) {
      context.die(1)
      return
    }
    if (flags.json !== true) context.write(`${signal}: waiting for running requests; once more ends at once`)
    void engine.drain()
  })
  context.write(flags.json === true ? JSON.stringify(factsOf(engine)) : greeting(engine, context))
  if ((await engine.ended) !== 'crashed') {
    context.exit(0)
    return
  }
  context.writeError('crashed on purpose')
  context.die(1)
}

/** The line of `--json`. */
function factsOf(engine: MockEngine): object {
  return {
    url: engine.url,
    port: engine.port,
    model: engine.model,
    kv_events_endpoints: engine.kvEventsEndpoints,
    replay_endpoints: engine.replayEndpoints,
    model_folder: engine.modelFolder,
  }
}

function greeting(engine: MockEngine, { colors }: CommandContext): string {
  const body = `{"model": "${engine.model}", "messages": [{"role": "user", "content": "Hello"}]}`
  const line = (name: string, values: readonly string[]) =>
    values.length === 0 ? [] : [`${name.padEnd(10)}${values.join('  ')}`]
  return [
    ...line('listening', [colors.bold(engine.url)]),
    ...line('model', [`${engine.model}  (tokenizer: ${engine.modelFolder})`]),
    ...line('events', engine.kvEventsEndpoints),
    ...line('replay', engine.replayEndpoints),
    ...line('try', [
      `curl ${engine.url}/v1/chat/completions -H 'content-type: application/json' -d '${body}'`,
    ]),
  ].join('\n')
}
