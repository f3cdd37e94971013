#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import process from 'node:process'
import { Command } from 'commander'
import { dataFolder } from './data.js'
import { families, printReports, runVectors, totalsOf } from './runner/index.js'
import { waitingDocuments } from './runner/uncovered.js'

const examples = `
Examples:
  vectors                        the files that this package carries
  vectors my-cases.jsonl.gz      one file, plain or gzipped; the shape is told by its name or its fields
  vectors recorded/ rng.jsonl    every .jsonl and .json of a folder, and a file
  vectors --list                 what is evaluated, and by which package

Prints one line a file, the first five mismatches below it, and last the sum. A case is one line of a file, and passes when every
value in it matches. Exit code 1: a mismatch, a line that is not JSON, an unknown shape or field, an empty or missing file.`

const print = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

const program = new Command('vectors')
  .description('Evaluates vector files with the shipped code.')
  .argument('[paths...]', 'files and folders; without any, the carried files')
  .option('--list', 'list the families of files and who evaluates them')
  .version(__PACKAGE_VERSION__)
  .addHelpText('after', examples)
  .action((paths: readonly string[], { list }: { readonly list?: boolean }) => {
    if (list === true) {
      for (const { name, covers } of [...families, ...waitingDocuments]) print(`${name}: ${covers}`)
      return
    }
    const reports = runVectors(paths.length === 0 ? [dataFolder] : paths.map(located))
    printReports(reports, print)
    if (totalsOf(reports).failed > 0) process.exitCode = 1
  })

/** npm scripts run in the folder of the workspace, not where the user stands. */
function located(path: string): string {
  const caller = process.env['INIT_CWD']
  return existsSync(path) || caller === undefined ? path : resolve(caller, path)
}

program.parse()
