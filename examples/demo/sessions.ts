import { WyRand } from '@router/sdk'
import type { Conversation, Turn, Workload } from './workload.js'

const words =
  `answer ask block bring build cache change check cloud count day draw early engine every field find first follow gather give green half
hold house idea join keep kind large late learn light line list long look make map measure moment month morning move name near new night note
number often open order other page part path place plan plant point quick rain reach read rest road room round rule second seed send share
short side simple small sort sound start state step stone store story street sum table take talk test think thread time town trace train try
turn under use value walk wall want watch water way week wind wood word work write year`.split(/\s+/)

/** How large the sessions are. Counts of words are about those of tokens. */
const shape = {
  /** Each length as often as the others. */
  turns: { least: 3, most: 12 },
  /** Taken in turn. */
  systemPrompts: 8,
  systemWords: 130,
  questionWords: { least: 60, most: 160 },
  /** Of the first turn, and of the others. */
  openingTokens: { least: 64, most: 128 },
  answerTokens: { least: 4, most: 12 },
  /** People read, think and write for about so long in all, whatever the number of turns. */
  pausesMs: 360_000,
}

/**
 * Chats of 3 to 12 turns, each with one of 8 system prompts; every turn repeats what was said before, the engine's answers included.
 * All begin at once, so that load decides where; later most of them wait for their people. The same seed gives the same sessions.
 */
export function sessionWorkload(count: number, seed: number): Workload {
  const random = new WyRand(BigInt(seed))
  const between = ({ least, most }: { readonly least: number; readonly most: number }): number =>
    least + random.below(most - least + 1)
  const text = (length: number): string =>
    Array.from({ length }, () => words[random.below(words.length)]!).join(' ')
  const systems = Array.from({ length: shape.systemPrompts }, () => text(shape.systemWords))
  const { least, most } = shape.turns
  const conversations = Array.from({ length: count }, (_, session): Conversation => {
    const system = systems[session % systems.length]!
    const length = least + (session % (most - least + 1))
    const questions = Array.from({ length }, () => text(between(shape.questionWords)))
    const turns = questions.map((_, turn): Turn => {
      const maxTokens = between(turn === 0 ? shape.openingTokens : shape.answerTokens)
      return {
        pauseMs: turn === 0 ? 0 : (shape.pausesMs / (length - 1)) * (0.5 + random.unit()),
        path: '/v1/chat/completions',
        body: (answers) => ({
          model: 'mock-model',
          messages: messagesOf(system, questions.slice(0, turn + 1), answers),
          max_tokens: maxTokens,
        }),
      }
    })
    return { startMs: 0, turns }
  })
  return {
    name: 'sessions',
    description: `${count} chats of ${least} to ${most} turns, ${shape.systemPrompts} system prompts`,
    conversations,
    blockSize: 16,
    maxModelTokens: 4096,
  }
}

function messagesOf(system: string, questions: readonly string[], answers: readonly string[]): object[] {
  const said = questions.flatMap((content, turn) => {
    const answer = answers[turn]
    return [
      { role: 'user', content },
      ...(answer === undefined ? [] : [{ role: 'assistant', content: answer }]),
    ]
  })
  return [{ role: 'system', content: system }, ...said]
}
