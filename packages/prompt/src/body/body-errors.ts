import { PromptError } from '../errors.js'

/** `PROMPT_BODY_INVALID`: what stands at a byte, and what would have been accepted. */
export function bodyError(bytes: Uint8Array, offset: number, expected: string): PromptError {
  const found = offset < bytes.length ? shown(bytes[offset]!) : 'the end'
  return new PromptError(
    'PROMPT_BODY_INVALID',
    `body, byte ${offset}: found ${found}, expected ${expected}`,
    {
      details: { offset, found, expected },
    },
  )
}

/** `PROMPT_BODY_TOO_LARGE`. */
export function bodyTooLarge(limit: number): PromptError {
  return new PromptError(
    'PROMPT_BODY_TOO_LARGE',
    `body: more than ${limit} values, a list of token ids counted once`,
    {
      details: { limit },
    },
  )
}

function shown(byte: number): string {
  return byte > 0x20 && byte < 0x7f
    ? `"${String.fromCharCode(byte)}"`
    : `the byte 0x${byte.toString(16).padStart(2, '0')}`
}
