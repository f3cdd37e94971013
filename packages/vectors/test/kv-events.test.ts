import { describe, expect, test } from 'vitest'
import { readDocument } from '../src/data.js'
import { runLines } from '../src/runner/run.js'
import type { KvEventsDocument } from '../src/shapes/kv-events.js'
import { leavesOf, withLeaf } from './altered-line.js'
import { faultOf, runFile } from './support.js'

const whole = readDocument('kv-events') as KvEventsDocument
const replay = whole.replay_socket

type Case = Readonly<Record<string, unknown>>
type Path = (string | number)[]

/** The document with nothing in its lists but what is given. */
function only(parts: object): object {
  return { ...whole, payloads: [], frames: [], sequence_scenarios: [], ...parts }
}

const run = (document: object) =>
  runLines('kv-events', [{ number: 1, value: document as Record<string, unknown> }])
const outcome = (document: object): [number, number] => [run(document).passed, run(document).failed]

const FAILS = [0, 1]
const PASSES = [1, 0]

const words: Readonly<Record<string, string>> = {
  applied: 'noop',
  filtered: 'noop',
  noop: 'filtered',
  undecodable: 'filtered',
  stored: 'removed',
  removed: 'cleared',
  cleared: 'removed',
  device: 'host_pinned',
  host_pinned: 'disk',
  disk: 'external',
  external: 'device',
  bad_frame_count: 'bad_sequence',
  bad_sequence: 'bad_msgpack',
  bad_msgpack: 'bad_sequence',
}

/** Another value of the same kind. */
function other(leaf: unknown): unknown {
  if (typeof leaf === 'number') return leaf + 1
  if (typeof leaf === 'boolean') return !leaf
  if (leaf === null) return '7'
  const text = leaf as string
  if (words[text] !== undefined) return words[text]
  return /^\d+$/.test(text) ? String(BigInt(text) ^ 1n) : `${text}x`
}

describe('payloads', () => {
  const cases = whole.payloads as unknown as readonly Case[]

  test('E1: every one passes alone, and fails with any expected value altered', () => {
    let count = 0
    for (const payload of cases) {
      expect(outcome(only({ payloads: [payload] })), String(payload['id'])).toEqual(PASSES)
      const leaves = leavesOf(payload).filter(([key]) => key === 'batch' || key === 'events')
      for (const path of leaves) {
        const altered = withLeaf(payload, path, other)
        expect(
          outcome(only({ payloads: [altered] })),
          `${path.join('.')} of ${String(payload['id'])}`,
        ).toEqual(FAILS)
        count++
      }
    }
    expect(count).toBeGreaterThan(500)
  })

  test.each<[string, string, Path, (leaf: unknown) => unknown]>([
    [
      'array-stored',
      'another byte of a token',
      ['payload_hex'],
      (hex) => String(hex).replace('0102', '0103'),
    ],
    ['array-stored', 'a payload cut short', ['payload_hex'], (hex) => String(hex).slice(0, -2)],
    ['array-stored', 'another block size', ['router_block_size'], () => 8],
    ['array-two-elements-cleared', 'another rank of the socket', ['socket_rank'], () => 4],
    ['mm-image-token-rewritten', 'another image token', ['image_token'], () => 6],
  ])('%s: %s', (id, _what, path, change) => {
    const payload = cases.find((candidate) => candidate['id'] === id)!
    expect(outcome(only({ payloads: [withLeaf(payload, path, change)] }))).toEqual(FAILS)
  })

  test('an event too many or too few', () => {
    for (const payload of cases.filter(({ events }) => (events as unknown[]).length > 0)) {
      const events = payload['events'] as readonly unknown[]
      for (const changed of [events.slice(1), [...events, events[0]]])
        expect(outcome(only({ payloads: [{ ...payload, events: changed }] }))).toEqual(FAILS)
    }
  })

  test('an issue that is not there, and one that is not expected', () => {
    const id = 'tokens-short-publishes-leading-blocks'
    const short = cases.find((candidate) => candidate['id'] === id)!
    const { issues: _, ...event } = (short['events'] as readonly Case[])[0]!
    expect(outcome(only({ payloads: [{ ...short, events: [event] }] }))).toEqual(FAILS)
    const stored = cases[0]!
    const added = { ...(stored['events'] as readonly Case[])[0]!, issues: ['tokens_short'] }
    expect(outcome(only({ payloads: [{ ...stored, events: [added] }] }))).toEqual(FAILS)
  })
})

describe('messages', () => {
  test('each passes alone, and fails with its sequence or fault altered', () => {
    for (const message of whole.frames) {
      expect(outcome(only({ frames: [message] })), message.name).toEqual(PASSES)
      const key = 'seq' in message ? 'seq' : 'error'
      const altered = withLeaf(message, [key], other)
      expect(outcome(only({ frames: [altered] })), message.name).toEqual(FAILS)
    }
  })

  test('an accepted message that should be rejected, and the reverse', () => {
    const [accepted] = whole.frames.filter((message) => 'seq' in message)
    const { seq: _, ...rest } = accepted as unknown as Case
    expect(outcome(only({ frames: [{ ...rest, error: 'bad_msgpack' }] }))).toEqual(FAILS)
    const [rejected] = whole.frames.filter((message) => 'error' in message)
    const { error: __, ...others } = rejected as unknown as Case
    expect(outcome(only({ frames: [{ ...others, seq: 1 }] }))).toEqual(FAILS)
  })
})

describe('the replay socket', () => {
  test.each<[string, Path, unknown]>([
    ['another first sequence', ['request_frames_hex_from_seq_7', 1], '0000000000000008'],
    ['a request of one frame', ['request_frames_hex_from_seq_7'], ['0000000000000007']],
    ['the engine sees no empty frame', ['what_the_engine_router_sees'], ['<identity>', '0000000000000007']],
    ['no terminator', ['reply_frames_hex'], replay.reply_frames_hex.slice(0, -1)],
    [
      'a reply behind the terminator',
      ['reply_frames_hex'],
      [...replay.reply_frames_hex, ...replay.reply_frames_hex],
    ],
    ['a missing reply', ['reply_frames_hex'], replay.reply_frames_hex.slice(1)],
    ['a reply that is no batch', ['reply_frames_hex', 0, 2], 'c1'],
    ['a terminator with a payload', ['reply_frames_hex', 2, 2], 'c0'],
  ])('%s', (_what, path, value) => {
    const altered = withLeaf(only({}), ['replay_socket', ...path], () => value)
    expect(outcome(altered as object)).toEqual(FAILS)
  })

  test('answers with a topic are answers too', () => {
    const frames = replay.reply_frames_hex.map(([empty = '', ...others]) => [empty, '6b76', ...others])
    expect(outcome(only({ replay_socket: { ...replay, reply_frames_hex: frames } }))).toEqual(PASSES)
  })
})

describe('documents of another shape', () => {
  test.each<[Path, unknown, RegExp]>([
    [['payloads', 0, 'payload_hex'], 'xyz', /^payloads\.0\.payload_hex: expected bytes/],
    [['payloads', 0, 'payload_hex'], 'abc', /^payloads\.0\.payload_hex: expected bytes/],
    [['payloads', 0, 'router_block_size'], 0, /^payloads\.0\.router_block_size/],
    [['payloads', 0, 'socket_rank'], -1, /^payloads\.0\.socket_rank/],
    [['payloads', 0, 'events', 0, 'blocks', 0, 'block_hash'], '-1', /block_hash: expected a u64/],
    [['frames', 0, 'seq'], -1, /^frames\.0\.seq/],
    [['frames', 2, 'error'], 'bad', /^frames\.2\.error/],
    [['replay_socket', 'client'], 'REQ', /^replay_socket\.client/],
    [['conventions', 'u64'], 5, /^conventions\.u64/],
  ])('%j as %j', (path, value, message) => {
    const report = runFile('kv-events.json', JSON.stringify(withLeaf(whole, path, () => value)))
    expect(report).toMatchObject({ passed: 0, failed: 1 })
    expect(faultOf(report)).toMatch(message)
  })

  test.each<[Path]>([
    [[]],
    [['payloads', 0]],
    [['payloads', 0, 'events', 0]],
    [['frames', 0]],
    [['replay_socket']],
  ])('an unknown field at %j', (path) => {
    const extra = withLeaf(whole, path, (inner) => ({ ...(inner as object), extra: 1 }))
    expect(faultOf(runFile('kv-events.json', JSON.stringify(extra)))).toMatch(/^unknown field '.*extra'$/)
  })
})
