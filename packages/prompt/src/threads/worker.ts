import { parentPort, workerData } from 'node:worker_threads'
import { PromptTokenizer } from '../tokenizer/prompt-tokenizer.js'
import { JobRunner, transferable } from './job-runner.js'
import type { ThreadRequest, ThreadSettings } from './messages.js'

const { cacheBytes, maxTextCharacters, maxTokenizers } = workerData as ThreadSettings
const options = { cacheBytes, maxTextCharacters }
const runner = new JobRunner(async (folder) => PromptTokenizer.load(folder, options), maxTokenizers)

// The pool sends one prompt at a time.
parentPort?.on('message', (request: ThreadRequest) => {
  void runner.answer(request).then((answer) => parentPort?.postMessage(answer, transferable(answer)))
})
