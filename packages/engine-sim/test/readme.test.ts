import { describe, expect, it } from 'vitest'
import readme from '../README.md?raw'
import * as engineSim from '../src/index.js'
import type { EngineRequest } from '../src/index.js'
import { keys } from './support/timeline.js'

const fixtures = import.meta.glob(['./fixtures/*.js'], { query: '?raw', import: 'default', eager: true })

it.each(Object.entries(fixtures))('the README shows the example %s as it runs here', (_file, text) => {
  expect(readme).toContain(`\`\`\`js\n${text}\`\`\`\n`)
})

it.each([...Object.keys(engineSim), ...engineSim.endReasons])('the README names %s', (name) => {
  expect(readme).toMatch(new RegExp(`\\b${name}\\b`, 'u'))
})

describe('the example', () => {
  interface Example {
    readonly timelineOf: (requests: readonly EngineRequest[], parameters?: object) => string[]
  }

  it('prints what the README says', async () => {
    // @ts-expect-error -- plain JavaScript, as an embedder would save it
    const { timelineOf } = (await import('./fixtures/play-requests.js')) as Example
    const lines = timelineOf([
      { promptTokens: 40, outputTokens: 2, blockKeys: keys(1, 2) },
      { promptTokens: 40, outputTokens: 1, blockKeys: keys(1, 2) },
    ])
    expect(readme).toContain(`\`\`\`text\n${lines.join('\n')}\n\`\`\`\n`)
  })
})
