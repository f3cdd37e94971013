/** One sample of the text form of Prometheus. */
export interface MetricSample {
  readonly labels: ReadonlyMap<string, string>
  readonly value: number
}

/** Samples that are read of one metric. */
const maximumSamples = 4096

/** The samples of one metric, in the order of the text; what cannot be read is left out. `O(text)`. */
export function metricSamples(text: string, name: string): MetricSample[] {
  const samples: MetricSample[] = []
  for (
    let at = text.indexOf(name);
    at >= 0 && samples.length < maximumSamples;
    at = text.indexOf(name, at + 1)
  ) {
    if (at > 0 && text[at - 1] !== '\n') continue
    const end = text.indexOf('\n', at)
    const rest = text.slice(at + name.length, end < 0 ? undefined : end)
    const [, labels, value] = /^(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?[ \t]+(\S+)/.exec(rest) ?? []
    const number = Number(value)
    if (value !== undefined && !Number.isNaN(number))
      samples.push({ labels: labelsOf(labels ?? ''), value: number })
  }
  return samples
}

function labelsOf(text: string): ReadonlyMap<string, string> {
  const labels = new Map<string, string>()
  for (const [, key, value] of text.matchAll(/([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"/g))
    labels.set(
      key!,
      value!.replaceAll(/\\(.)/g, (_, letter: string) => (letter === 'n' ? '\n' : letter)),
    )
  return labels
}
