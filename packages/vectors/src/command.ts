import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { Command, CommanderError } from 'commander'
import { dataFolder } from './data.js'
import { families } from './runner/families.js'
import { printReports, totalsOf } from './runner/print.js'
import { bundledRouter } from './runner/router-process.js'
import { playLater, runVectors } from './runner/run.js'
import { waitingDocuments } from './runner/uncovered.js'

const examples = `
Examples:
  npm run vectors                                 the files that packages/vectors carries
  npm run vectors -- my-cases.jsonl.gz            one file, plain or gzipped; its name or its fields tell the shape
  npm run vectors -- recorded/ rng.jsonl          every .jsonl and .json of a folder, and a file
  npm run vectors -- --list                       what is evaluated, and by which package
  npm run vectors -- service-sessions.jsonl --router
                                                  scenarios, each against a \`router serve\` that is started for it
  npm run vectors -- service-sessions.jsonl --router "node bin.js"
                                                  the same against another program

A path that is not there is looked for among the carried files.
Prints one line a file, the first five mismatches below it, and last the sum. A case is one line of a file; it passes when every
value in it matches. Exit code 1: a mismatch, a line that is not JSON, an unknown shape or field, a file that is empty, missing or
unreadable. Exit code 2: an unknown option, or paths beside --list.`

/** Runs the command; its exit code. `print` gets one line at a time, `complain` what is wrong with the arguments. */
export async function runCommand(
  args: readonly string[],
  print: (line: string) => void,
  complain: (line: string) => void,
): Promise<number> {
  let exitCode = 0
  const program = new Command('vectors')
    .description('Evaluates files of recorded and computed cases with the code of this repository.')
    .argument('[paths...]', 'files and folders; without any, the carried files')
    .option('--list', 'list the kinds of files, and who evaluates them')
    .option(
      '--router [command]',
      'play scenarios against processes: of a command, as in "node bin.js", else of the router of this checkout',
    )
    .addHelpText('after', examples)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => print(text.replace(/\n$/, '')),
      writeErr: (text) => complain(text.replace(/\n$/, '')),
    })
    .action(
      async (
        paths: readonly string[],
        { list, router }: { readonly list?: boolean; readonly router?: string | true },
      ) => {
        if (list === true) {
          if (paths.length > 0) program.error(`error: --list takes no paths, got '${paths.join("', '")}'`)
          for (const { name, covers } of [...families, ...waitingDocuments]) print(`${name}: ${covers}`)
          return
        }
        const evaluated = runVectors(paths.length === 0 ? [dataFolder] : paths.map(located))
        const routerCommand = router === true ? await bundledRouter() : router?.split(' ')
        const reports = await playLater(evaluated, routerCommand === undefined ? {} : { routerCommand })
        printReports(reports, print)
        exitCode = totalsOf(reports).failed > 0 ? 1 : 0
      },
    )
  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCode
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? 0 : 2
  }
}

/** npm scripts run in the folder of the workspace, not where the user stands; a name may be that of a carried file. */
function located(path: string): string {
  if (existsSync(path)) return path
  const fromCaller = resolve(process.env['INIT_CWD'] ?? '', path)
  const carried = join(dataFolder, path)
  return !existsSync(fromCaller) && existsSync(carried) ? carried : fromCaller
}
