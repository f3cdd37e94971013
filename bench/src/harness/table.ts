import Table from 'cli-table3'

const noBorders = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
}

export type Alignment = 'left' | 'right'

/** Text in columns, without lines. */
export function table(
  head: readonly string[],
  aligned: readonly Alignment[],
  lines: readonly string[][],
): string {
  const printed = new Table({
    head: [...head],
    colAligns: [...aligned],
    chars: noBorders,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  })
  printed.push(...lines)
  return printed.toString()
}
