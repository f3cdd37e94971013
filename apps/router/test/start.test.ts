import { spawn } from 'node:child_process'
import { type Server, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import picocolors from 'picocolors'
import { afterEach, expect, test } from 'vitest'
import { runStart } from '../src/commands/start.js'
import { examplePolicy } from '../src/example.js'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const end of cleanups.splice(0).toReversed()) await end()
})

/** `npm start` in this process: what it wrote, how it is asked to stop, and its exit code when it is over. */
function start(...args: string[]) {
  return startWith({}, ...args)
}

function startWith(environment: Readonly<Record<string, string>>, ...args: string[]) {
  const lines: string[] = []
  let stop = (): void => undefined
  let exitCode: number | undefined
  const ended = runStart(args, {
    environment,
    write: (text) => lines.push(...text.split('\n')),
    writeError: (text) => lines.push(...text.split('\n')),
    writeLog: () => undefined,
    hasReader: true,
    colors: picocolors.createColors(false),
    program: 'npx router',
    folder: process.cwd(),
    randomSeed: () => 1n,
    nowMs: () => performance.now(),
    onStop: (listener) => {
      stop = () => listener('SIGTERM')
    },
    exit: (code) => {
      exitCode = code
    },
    die: (code) => {
      exitCode = code
    },
  }).then(() => exitCode)
  const close = (): Promise<number | undefined> => {
    stop()
    return ended
  }
  cleanups.push(close)
  /** The rest of the line that begins with a word, once it is there. */
  const said = async (word: string): Promise<string> => {
    for (;;) {
      const line = lines.find((each) => each.startsWith(`${word} `))
      if (line !== undefined) return line.slice(word.length).trim()
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  return { lines, ended, close, said }
}

function ask(url: string, messages: readonly object[]): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'mock-model', stream: true, messages, max_tokens: 4 }),
  })
}

/** A server that holds a port of this machine; 0 = any. Whoever has it already may keep it. */
async function taken(port: number): Promise<number> {
  const server: Server = createServer()
  await new Promise<void>((resolve) => {
    server.on('error', () => resolve()).listen({ host: '127.0.0.1', port }, resolve)
  })
  cleanups.push(() => server.listening && server.close())
  return server.listening ? (server.address() as { readonly port: number }).port : port
}

test('npm start streams a chat to what it says to try, routes the next turn by its tokens, and ends all of it', async () => {
  const { said, close, lines } = start('--port', '0', '--engines', '2')
  const url = await said('address')
  const tried = await said('try')
  expect(tried).toContain(`${url}/v1/chat/completions`)
  const body = JSON.parse(/'(\{.*\})'/u.exec(lines.join('\n'))![1]!) as { readonly messages: object[] }
  expect(body).toMatchObject({ model: 'mock-model', stream: true })

  const question = { role: 'user', content: 'Which rank has the blocks of this prompt, and why? '.repeat(20) }
  const first = await ask(url, [question])
  const text = await first.text()
  expect([first.status, text.trimEnd().split('\n').at(-1)]).toEqual([200, 'data: [DONE]'])
  // Events may come after the answer.
  let next = await ask(url, [question])
  while (next.headers.get('x-router-overlap-blocks') === '0') {
    await next.text()
    next = await ask(url, [question])
  }
  await next.text()
  expect(next.headers.get('x-router-worker')).toBe(first.headers.get('x-router-worker'))

  for (const word of ['decisions', 'workers', 'metrics', 'health']) {
    const answer = await fetch(await said(word))
    expect([word, answer.status]).toEqual([word, 200])
    expect(await answer.text()).toContain(word === 'decisions' ? '"exactness":"exact"' : 'mock-model')
  }
  const [engine = ''] = (await said('engines')).split(/ +/u)
  expect((await fetch(`${engine}/health`)).status).toBe(200)
  expect(await close()).toBe(0)
  await expect(fetch(`${engine}/health`)).rejects.toThrow()
  await expect(fetch(`${url}/health`)).rejects.toThrow()
})

test('npm start takes the next port where nobody asked for one, and says so; one that was asked for it must have', async () => {
  await taken(8000)
  const free = start('--engines', '1')
  const [url = ''] = (await free.said('address')).split(/ +/u)
  expect(Number(new URL(url).port)).toBeGreaterThan(8000)
  expect(await free.said('address')).toContain('port 8000 is taken')

  const port = await taken(0)
  const asked = start('--port', String(port), '--engines', '1')
  expect(await asked.ended).toBe(1)
  expect(asked.lines.join('\n')).toContain(`=${port}: it is taken`)

  const byVariable = startWith({ ROUTER_HTTP_PORT: String(port) }, '--engines', '1')
  expect(await byVariable.ended).toBe(1)
  expect(byVariable.lines.join('\n')).toContain(`=${port}: it is taken`)
})

test('npm start has a help of its own, hands other flags to router serve, and refuses what neither knows', async () => {
  const help = start('--help')
  expect(await help.ended).toBe(0)
  expect(help.lines.join('\n')).toMatch(/--port.*--engines.*router serve --help/su)

  const affinity = start('--port', '0', '--engines', '1', '--policy', 'prefix-affinity')
  expect(await affinity.said('router')).toMatch(/on http.*1 worker, policy prefix-affinity/u)

  for (const [args, message] of [
    [['--engines', '0'], 'accepted: a whole number from 1 to 64'],
    [['--port', '65536'], 'accepted: a whole number from 0 to 65535'],
    [['--port', '0', '--engines', '1', '--polcy', 'default'], '--policy'],
  ] as const) {
    const wrong = start(...args)
    expect(await wrong.ended).toBe(2)
    expect(wrong.lines.join('\n')).toContain(message)
  }
})

test('npm start as a process: files from where the user stands, SIGTERM ends it with 0', async () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const args = ['start', '--port', '0', '--engines', '1', '--router-policy-config', 'policy.yaml']
  const child = spawn(process.execPath, [join(root, 'scripts', 'run.mjs'), ...args], {
    cwd: root,
    env: { PATH: process.env['PATH'], INIT_CWD: dirname(examplePolicy) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  cleanups.push(() => child.kill('SIGKILL'))
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  let output = ''
  await new Promise<void>((resolve) => {
    child.on('close', () => resolve())
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      output += part
      if (/^end /mu.test(output)) resolve()
    })
  })
  expect(output).toMatch(/^router on http.*: 1 worker, policy (?!default)/u)
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
})
