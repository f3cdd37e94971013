import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import picocolors from 'picocolors'
import { describe, expect, test } from 'vitest'
import { runCli } from '../../src/cli.js'
import { modelFolderPath } from '../../src/index.js'
import { type Json, ask, chat, until } from '../support/mock-server.js'

/** A run of the command in this process. */
class Run {
  output = ''
  errors = ''
  exitCode: number | undefined
  died: number | undefined
  readonly ended: Promise<void>
  #signal: (signal: string) => void = () => {}

  constructor(...args: string[]) {
    this.ended = runCli(args, {
      write: (text) => (this.output += `${text}\n`),
      writeError: (text) => (this.errors += `${text}\n`),
      colors: picocolors.createColors(false),
      exit: (code) => (this.exitCode = code),
      die: (code) => (this.died = code),
      onSignal: (listener) => (this.#signal = listener),
    })
  }

  /** Of `--json`. */
  async facts(): Promise<Json> {
    await until('it listens', () => this.output.includes('\n'))
    return JSON.parse(this.output.split('\n')[0]!)
  }

  async stop(): Promise<void> {
    this.#signal('SIGTERM')
    await this.ended
  }

  signal(): void {
    this.#signal('SIGINT')
  }
}

const started = (...args: string[]) => new Run('--port', '0', '--json', '--speedup', '1000', ...args)

describe('the command', () => {
  test('says where it listens, and how to try it', async () => {
    const run = new Run(
      '--port',
      '0',
      '--kv-events',
      'tcp://127.0.0.1:0',
      '--kv-events-replay',
      'tcp://127.0.0.1:0',
    )
    await until('it listens', () => run.output.includes('try '))
    expect(run.output).toMatch(
      /^listening http:\/\/127\.0\.0\.1:\d+\nmodel +mock-model .*\nevents +tcp:\/\/127.0.0.1:\d+\nreplay +tcp:\/\/127.0.0.1:\d+\ntry +curl http/u,
    )
    const [, url, body] = /try +curl (\S+) -H .* -d '(.*)'/u.exec(run.output)!
    const answer = await ask({ url: '' }, url!, body)
    expect(answer.json.choices).toHaveLength(1)
    await run.stop()
    expect(run.exitCode).toBe(0)
    expect(run.output).toContain('SIGTERM: waiting for running requests')
  })

  test('prints one line of JSON', async () => {
    const run = started(
      '--data-parallel-size',
      '2',
      '--kv-events',
      'tcp://127.0.0.1:0',
      '--model',
      'a',
      '--model',
      'b',
    )
    const facts = await run.facts()
    expect(facts).toEqual({
      url: `http://127.0.0.1:${facts.port}`,
      port: expect.any(Number),
      model: 'a',
      kv_events_endpoints: [expect.stringMatching(/^tcp:/u), expect.stringMatching(/^tcp:/u)],
      replay_endpoints: [],
      model_folder: modelFolderPath,
    })
    await run.stop()
    expect(run.output.trimEnd().split('\n')).toHaveLength(1)
  })

  test('hands its flags on', async () => {
    const flags =
      '--flavour sglang --lora x=/adapters/x --lora y --block-size 32 --num-gpu-blocks 64 --max-num-seqs 7 ' +
      '--max-num-batched-tokens 512 --max-model-len 1000 --reply-tokens 5 --no-prompt-tokens-details --no-prefix-caching ' +
      '--request-id-headers --record-requests 2 --prefill-ms 3 --decode-ms 0 --embedding-dimensions 3 ' +
      '--fault error:status=500,path=/pooling --kv-events tcp://127.0.0.1:0 --kv-events-topic kv'
    const run = started(...flags.split(' '), '--model-folder', modelFolderPath)
    const facts = await run.facts()
    expect((await ask(facts, '/get_server_info')).json).toMatchObject({
      page_size: 32,
      max_total_num_tokens: 2048,
      max_running_requests: 7,
      chunked_prefill_size: 512,
      context_length: 1000,
      disable_radix_cache: true,
      kv_events_config: expect.stringContaining('"topic":"kv"'),
    })
    expect(
      (await ask(facts, '/v1/models')).json.data.map(({ id, root }: Json) => [id, root]).slice(1),
    ).toEqual([
      ['x', '/adapters/x'],
      ['y', 'y'],
    ])
    const answer = await ask(facts, '/v1/chat/completions', chat('x'))
    expect(answer.json.usage).toMatchObject({ completion_tokens: 5, prompt_tokens_details: null })
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/u)
    expect((await ask(facts, '/v1/embeddings', { input: 'x' })).json.data[0].embedding).toHaveLength(3)
    expect((await ask(facts, '/pooling', { input: 'x' })).status).toBe(500)
    expect((await ask(facts, '/admin/requests')).json.requests).toHaveLength(2)
    await run.stop()
  })

  test('ends at once at the second signal', async () => {
    const run = started('--fault', 'health_lies:says=200')
    const facts = await run.facts()
    const abort = new AbortController()
    const pending = ask(facts, '/v1/chat/completions', chat('x'), { signal: abort.signal }).catch(() => 'cut')
    await until('it waits', async () => (await ask(facts, '/stats')).json.ranks[0].waitingRequests === 1)
    run.signal()
    expect(run.died).toBeUndefined()
    run.signal()
    expect(run.died).toBe(1)
    // This process lives on.
    abort.abort()
    expect(await pending).toBe('cut')
    await run.ended
  })

  test('crashes on purpose', async () => {
    const run = started('--fault', 'crash')
    const facts = await run.facts()
    await expect(ask(facts, '/v1/chat/completions', chat('x'))).rejects.toThrow('fetch failed')
    await run.ended
    expect([run.died, run.errors]).toEqual([1, 'crashed on purpose\n'])
  })

  test('writes the model that it has', async () => {
    const folder = join(mkdtempSync(join(tmpdir(), 'mock-model-')), 'deep', 'model')
    const run = new Run('--write-model', folder)
    await run.ended
    expect(run.output).toBe(`tokenizer and chat template written to ${folder}\n`)
    expect(readFileSync(join(folder, 'tokenizer.json'))).toEqual(
      readFileSync(join(modelFolderPath, 'tokenizer.json')),
    )
    const again = new Run('--write-model', folder)
    await again.ended
    expect([again.exitCode, again.errors]).toEqual([undefined, ''])
    writeFileSync(join(folder, 'tokenizer.json'), 'mine')
    const other = new Run('--write-model', folder)
    await other.ended
    expect([other.exitCode, other.errors]).toEqual([
      1,
      expect.stringContaining('exists already, and is another file'),
    ])
    expect(readFileSync(join(folder, 'tokenizer.json'), 'utf8')).toBe('mine')
    const file = join(folder, 'file')
    writeFileSync(file, '')
    const refused = new Run('--write-model', join(file, 'x'))
    await refused.ended
    expect([refused.exitCode, refused.errors]).toEqual([1, expect.stringContaining('cannot write the model')])
  })
})

describe('wrong use', () => {
  test.each([
    [['--port', '70000'], 'Accepted: a whole number from 0 to 65535.'],
    [['--flavour', 'llama'], 'Accepted: vllm, sglang.'],
    [['--speedup', '0'], 'Accepted: a number above 0, up to 1e9.'],
    [['--decode-ms', '-1'], 'Accepted: a number from 0 to 1e9.'],
    [['--lora', '=x'], 'Accepted: name, or name=path.'],
    [['--fault', 'explode'], 'accepted: hang, slow, error'],
    [['--kv-events-hashes', 'u8'], 'Accepted: u64, i64'],
    [['--kv-events-topic', 'x'], 'need --kv-events'],
    [['--model', 'a', '--lora', 'a'], "'a' is named twice"],
    [['--nope'], "unknown option '--nope'"],
    [['extra'], 'too many arguments'],
  ])('%j ends with exit code 2 and what is accepted', async (args, text) => {
    const run = new Run('--port', '0', ...args)
    await run.ended
    expect(run.exitCode).toBe(2)
    expect(run.errors).toContain(text)
    expect(run.output).toBe('')
  })

  test('that only the machine can tell ends with exit code 1', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    const { port } = other.address() as AddressInfo
    const run = new Run('--port', String(port))
    await run.ended
    expect([run.exitCode, run.errors]).toEqual([
      1,
      `error: cannot listen: port ${port} of 127.0.0.1 is in use by another program (MOCK_ENGINE_LISTEN_FAILED)\n`,
    ])
    other.close()
    const folder = new Run('--port', '0', '--model-folder', '/nowhere')
    await folder.ended
    expect([folder.exitCode, folder.errors]).toEqual([1, expect.stringContaining('/nowhere')])
  })
})

test('--help has examples, --version a version', async () => {
  const help = new Run('--help')
  await help.ended
  expect(help.exitCode).toBe(0)
  for (const part of [
    '--kv-events',
    '--fault',
    'Examples:',
    '--write-model ./mock-model',
    '--flavour sglang',
  ])
    expect(help.output).toContain(part)
  const version = new Run('--version')
  await version.ended
  expect([version.exitCode, version.output]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/u)])
})
