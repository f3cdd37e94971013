import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { serverForTests } from '../support/mock-server.js'
import { pythonWith, runPython } from '../support/python.js'

const environment = await pythonWith(['openai==3.57.0'])
const why = environment.missing === undefined ? '' : ` (skipped: ${environment.missing})`
const script = fileURLToPath(new URL('../support/openai-scenarios.py', import.meta.url))

describe.skipIf(environment.missing !== undefined)(`the official client in Python${why}`, () => {
  test('gets all that it asks for', async () => {
    const engine = await serverForTests()
    const result = JSON.parse(await runPython(environment.python!, script, [engine.url, engine.model]))
    expect(result).toEqual({
      chat: expect.stringMatching(/\w+ \w+/u),
      cached: 0,
      streamed: result.chat,
      streamed_tokens: 32,
      call: ['tool_calls', 'weather', { city: '' }],
      completions: [expect.stringMatching(/^a./u), expect.stringMatching(/^b./u)],
      embeddings: [64, 64],
      response: ['completed', expect.stringMatching(/\w+ \w+/u)],
      retrieved: result.response[1],
      response_stream: ['response.created', 'response.completed', result.response[1]],
      models: ['mock-model'],
      not_found: 'The model `no` does not exist.',
      bad_request: 'max_tokens',
    })
  })
})
