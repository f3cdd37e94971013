import { nodeKinds } from '../body/json-tape.js'
import { type JsonView, absent } from '../body/json-view.js'
import type { PromptEndpoint } from '../endpoint.js'
import { isMediaPart, isOfMediaType } from './media-parts.js'

/** Takes the canonical text of a prompt. */
export interface TextSink {
  byte(value: number): void
  /** Bytes `[start, end)` of a list. */
  copy(bytes: Uint8Array, start: number, end: number): void
  /** Bytes of a string with needless escapes; its shortest form has `saved` bytes less. */
  rewrite(bytes: Uint8Array, start: number, end: number, saved: number): void
  /** A media part begins, by its node; whether its text is wanted. */
  beginMedia(node: number): boolean
  /** A media part whose text was wanted ends. */
  endMedia(): void
}

const { object, array, text, escapedText, key, escapedKey, ids } = nodeKinds
const comma = 0x2c
const colon = 0x3a

/** What stands before the turns of a conversation, in the order in which templates put it; then the turns themselves. */
const conversations: Partial<Record<PromptEndpoint, readonly [before: readonly string[], turns: string]>> = {
  chat: [['tools', 'documents'], 'messages'],
  responses: [['tools', 'instructions'], 'input'],
  messages: [['tools', 'system'], 'messages'],
  count_tokens: [['tools', 'system'], 'messages'],
  embeddings: [[], 'messages'],
  pooling: [[], 'messages'],
  tokenize: [['tools'], 'messages'],
}

/**
 * Writes the canonical text of a conversation: its tools, documents and instructions, then its turns in order, as JSON without needless
 * white space and in the shortest form of each string, with keys in the order given. Two conversations have one text only if they mean
 * the same to an engine; one that goes on from another has its text and more. Cache marks (`cache_control`) are left out, since clients
 * move them from turn to turn, and a content that is a string is written as the list of one text part that it stands for. Whether there
 * are turns.
 */
export function writeConversation(view: JsonView, endpoint: PromptEndpoint, sink: TextSink): boolean {
  const form = conversations[endpoint]
  if (form === undefined) return false
  const writer = new ConversationWriter(view, sink)
  const [before, turns] = form
  for (const name of before) writer.section(name)
  return writer.turns(turns)
}

/** Writes what one prompt that is a string has between its quotes, so that a longer one has the text of a shorter one and more. */
export function writeText({ bytes, tape }: JsonView, node: number, sink: TextSink): void {
  const start = tape.start(node) + 1
  const end = tape.end(node) - 1
  if (tape.kind(node) === text) sink.copy(bytes, start, end)
  else sink.rewrite(bytes, start, end, tape.extra(node))
}

class ConversationWriter {
  readonly #view: JsonView
  readonly #sink: TextSink

  constructor(view: JsonView, sink: TextSink) {
    this.#view = view
    this.#sink = sink
  }

  /** One of the things before the turns; an empty list is as good as none. */
  section(name: string): void {
    const view = this.#view
    const node = view.find(0, name)
    if (node === absent || (view.isArray(node) && view.tape.next(node) === node + 1)) return
    this.#ascii(`"${name}":`)
    if (name === 'tools') this.#tree(node, false)
    else this.#content(node)
    this.#sink.byte(comma)
  }

  /** The turns, the list left open for those to come; whether there are any. A responses request may have one string. */
  turns(name: string): boolean {
    const view = this.#view
    const { tape } = view
    const node = view.find(0, name)
    if (!view.isArray(node) && !(name === 'input' && view.isText(node))) return false
    this.#ascii(`"${name}":[`)
    if (view.isText(node)) {
      this.#ascii('{"role":"user","content":')
      this.#content(node)
      this.#ascii('}')
      return true
    }
    const end = tape.next(node)
    for (let turn = node + 1; turn < end; turn = tape.next(turn)) {
      if (turn > node + 1) this.#sink.byte(comma)
      if (!view.isObject(turn)) this.#tree(turn)
      else if (isOfMediaType(view, turn)) this.#media(turn)
      else this.#turn(turn)
    }
    return true
  }

  #turn(node: number): void {
    const view = this.#view
    const { tape } = view
    const end = tape.next(node)
    let isFirst = true
    this.#ascii('{')
    for (let entry = node + 1; entry < end; entry = tape.next(entry + 1)) {
      if (view.isName(entry, 'cache_control')) continue
      if (!isFirst) this.#sink.byte(comma)
      isFirst = false
      this.#scalar(entry)
      this.#sink.byte(colon)
      if (view.isName(entry, 'content')) this.#content(entry + 1)
      else this.#tree(entry + 1)
    }
    this.#ascii('}')
  }

  /** A string as the list of one text part. */
  #content(node: number): void {
    const isText = this.#view.isText(node)
    if (isText) this.#ascii('[{"type":"text","text":')
    this.#tree(node)
    if (isText) this.#ascii('}]')
  }

  /** The value of a key and all within it. Closing brackets have no nodes: they are what stands between one node and the next. */
  #tree(root: number, mayHaveMedia = true): void {
    const { bytes, tape } = this.#view
    const end = tape.next(root)
    let at = tape.start(root)
    let needsComma = false
    // Whether a key stands before it, as it does before the root.
    let isValue = true
    for (let node = root; node < end;) {
      if (this.#close(at, tape.start(node))) needsComma = true
      const kind = tape.kind(node)
      const isKey = kind === key || kind === escapedKey
      if (isKey && this.#view.isName(node, 'cache_control')) {
        at = tape.end(node + 1)
        node = tape.next(node + 1)
        continue
      }
      if (needsComma) this.#sink.byte(comma)
      needsComma = !isKey
      const isPart = kind === object && !isValue && mayHaveMedia && isMediaPart(this.#view, node)
      isValue = isKey
      if (isPart || (kind <= array && !mayHaveMedia && tape.isCanonical(node))) {
        if (isPart) this.#media(node)
        else this.#sink.copy(bytes, tape.start(node), tape.end(node))
        at = tape.end(node)
        node = tape.next(node)
        continue
      }
      if (kind === object || kind === array) {
        at = tape.start(node) + 1
        this.#sink.byte(bytes[at - 1]!)
        needsComma = false
      } else {
        at = tape.end(node)
        this.#scalar(node)
        if (isKey) this.#sink.byte(colon)
      }
      node++
    }
    this.#close(at, tape.end(root))
  }

  /** Closes what closes between two positions; whether anything did. */
  #close(start: number, end: number): boolean {
    const { bytes } = this.#view
    let hasClosed = false
    for (let at = start; at < end; at++) {
      const byte = bytes[at]!
      if (byte !== 0x7d && byte !== 0x5d) continue
      this.#sink.byte(byte)
      hasClosed = true
    }
    return hasClosed
  }

  #media(root: number): void {
    if (!this.#sink.beginMedia(root)) return
    const { tape } = this.#view
    const end = tape.next(root)
    // Its keys and scalars alone tell it from others; each ends at a comma.
    for (let node = root; node < end; node++) {
      const kind = tape.kind(node)
      const isKey = kind === key || kind === escapedKey
      if (isKey && this.#view.isName(node, 'cache_control')) node = tape.next(node + 1) - 1
      else if (kind > array) {
        this.#scalar(node)
        this.#sink.byte(comma)
      }
    }
    this.#sink.endMedia()
  }

  #scalar(node: number): void {
    const { bytes, tape } = this.#view
    const kind = tape.kind(node)
    const start = tape.start(node)
    const end = tape.end(node)
    if (kind === escapedText || kind === escapedKey) this.#sink.rewrite(bytes, start, end, tape.extra(node))
    else if (kind !== ids) this.#sink.copy(bytes, start, end)
    else {
      for (let at = start; at < end; at++) if (bytes[at]! > 0x20) this.#sink.byte(bytes[at]!)
    }
  }

  #ascii(text: string): void {
    for (let index = 0; index < text.length; index++) this.#sink.byte(text.charCodeAt(index))
  }
}
