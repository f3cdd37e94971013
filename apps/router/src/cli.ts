import { printableLines } from '@router/config'
import { RouterError } from '@router/sdk'
import { Command, CommanderError } from 'commander'
import type { CommandContext } from './command-context.js'
import { explainCommand } from './commands/explain.js'
import { serveCommand } from './commands/serve.js'

const examplesOf = (program: string): string => `
Examples:
  ${program} serve --worker http://10.0.0.1:8000 --worker http://10.0.0.2:8000   one endpoint in front of two engines
  ${program} serve --help                                                        every setting
  ${program} explain                                                             one selection, taken apart
  ${program} explain --role decode --json                                        the same for another role, for a program`

/** Runs `router` with arguments. Sets the exit code: 0 done, 1 a file or a selection failed, 2 wrong use. Never throws for those. */
export async function runCli(args: readonly string[], context: CommandContext): Promise<void> {
  const program = new Command('router')
    .description('a router for fleets of LLM inference engines')
    .version(__PACKAGE_VERSION__)
    .addCommand(serveCommand(context))
    .addCommand(explainCommand(context))
    .addHelpText('after', examplesOf(context.program))
  for (const command of [program, ...program.commands]) {
    command.exitOverride().configureOutput({
      writeOut: (text) => context.write(text.trimEnd()),
      writeErr: (text) => context.writeError(printableLines(text.trimEnd())),
    })
    const name = command === program ? '' : ` ${command.name()}`
    command.showHelpAfterError(`see ${context.program}${name} --help`)
  }
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) {
      context.exit(error.exitCode === 0 ? 0 : 2)
    } else if (RouterError.isInstance(error)) {
      context.writeError(`${printableLines(error.message)}\n${context.colors.red('error')}: ${error.code}`)
      context.exit(1)
    } else throw error
  }
}
