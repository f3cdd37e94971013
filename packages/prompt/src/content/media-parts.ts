import { type JsonView, absent } from '../body/json-view.js'

/** Keys of parts that need no type: vLLM goes by them alone. */
const mediaKeys = [
  'image_url',
  'image_pil',
  'image_embeds',
  'input_audio',
  'audio_url',
  'audio_embeds',
  'video_url',
]

/** Types of parts, and of items of a responses request, that are not text: OpenAI with vLLM, Responses, Anthropic. */
const mediaTypes = [
  ...mediaKeys,
  'file',
  'input_image',
  'input_file',
  'computer_call_output',
  'image_generation_call',
  'image',
  'document',
]

/** Whether an object has the type of a media part. A document of plain text is text. */
export function isOfMediaType(view: JsonView, node: number): boolean {
  return hasMediaType(view, node, view.find(node, 'type'))
}

/** Whether an object in a list is a media part: by its type, without one by its keys. */
export function isMediaPart(view: JsonView, node: number): boolean {
  const type = view.find(node, 'type')
  if (type !== absent) return hasMediaType(view, node, type)
  return mediaKeys.some((name) => view.find(node, name) !== absent)
}

function hasMediaType(view: JsonView, node: number, type: number): boolean {
  if (!view.isText(type)) return false
  const name = mediaTypes.find((candidate) => view.isName(type, candidate))
  if (name !== 'document') return name !== undefined
  const source = view.find(view.find(node, 'source'), 'type')
  return !view.isText(source) || !(view.isName(source, 'text') || view.isName(source, 'content'))
}
