import { printableLines } from '@router/config'
import { RouterError } from '@router/sdk'
import { Command, CommanderError } from 'commander'
import type { CommandContext } from './command-context.js'
import { explainCommand } from './commands/explain.js'
import { serveCommand } from './commands/serve.js'

const examples = `
Examples:
  router serve --worker http://10.0.0.1:8000 --worker http://10.0.0.2:8000   one endpoint in front of two engines
  router serve --help                                                        every setting
  router explain                                                             one selection, taken apart
  router explain --role decode --json                                        the same for another role, for a program`

/** Runs `router` with arguments. Sets the exit code: 0 done, 1 a file or a selection failed, 2 wrong use. Never throws for those. */
export async function runCli(args: readonly string[], context: CommandContext): Promise<void> {
  const program = new Command('router')
    .description('a router for fleets of LLM inference engines')
    .version(__PACKAGE_VERSION__)
    .addCommand(serveCommand(context))
    .addCommand(explainCommand(context))
    .addHelpText('after', examples)
  for (const command of [program, ...program.commands]) {
    command.exitOverride().configureOutput({
      writeOut: (text) => context.write(text.trimEnd()),
      writeErr: (text) => context.writeError(printableLines(text.trimEnd())),
    })
    const invocation = command.name() === 'explain' ? context.invocation : commandLine(command)
    command.showHelpAfterError(`see ${invocation} --help`)
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

/** `router serve`. */
function commandLine(command: Command): string {
  return command.parent === null ? 'router' : `router ${command.name()}`
}
