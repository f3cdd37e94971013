import { isIP } from 'node:net'

/** Which hosts workers of the API may name (`--worker-allow`): names, `*.suffix`, addresses, and `address/bits`. */
export type AllowedHosts = readonly string[]

/** What loopback listeners allow when nothing is configured. */
export const loopbackHosts: AllowedHosts = ['127.0.0.0/8', '::1/128', 'localhost']

/** A usable socket address, or why it is none. `isName` = the host still has to be resolved, and then judged by `refusalOf`. */
export type EndpointVerdict =
  | { readonly host: string; readonly port: number; readonly isName: boolean }
  | { readonly why: string }

const socketForm = /^tcp:\/\/(\[[^\]]+\]|[^:/\s]+):(\d{1,5})$/

/** Judges the event and replay URLs of workers (host.md 17.4). */
export class EndpointRules {
  readonly #names: readonly string[]
  readonly #networks: readonly { readonly bytes: readonly number[]; readonly bits: number }[]

  constructor(allowed: AllowedHosts) {
    const parsed = allowed.map((entry) => [entry.toLowerCase(), networkOf(entry)] as const)
    this.#names = parsed.flatMap(([name, network]) => (network === undefined ? [name] : []))
    this.#networks = parsed.flatMap(([, network]) => network ?? [])
  }

  /** A `tcp://host:port` of a worker that came through the API. */
  judge(url: string): EndpointVerdict {
    const [, host, portText] = socketForm.exec(url) ?? []
    const port = Number(portText)
    if (host === undefined || !(port >= 1 && port <= 65_535))
      return { why: `'${url}' is no usable URL; accepted: tcp://host:port` }
    return this.#judge(host, port)
  }

  #judge(host: string, port: number): EndpointVerdict {
    const address = normalHost(host)
    if (address === undefined) return { why: `'${host}' is no host` }
    if (isIP(address) === 0) {
      if (this.#allowsName(address) || this.#networks.length > 0) return { host: address, port, isName: true }
      return { why: `host '${address}' is not among those that workers may have` }
    }
    const why = this.refusalOf(address)
    return why === undefined ? { host: address, port, isName: false } : { why }
  }

  /** The base URL of a worker that came through the API. */
  judgeBase(url: string): EndpointVerdict {
    const refusal = { why: `'${url}' is no usable URL; accepted: http://host:port or https://host:port` }
    if (!/^https?:\/\/[^/?#@\s]+(?:\/[^?#\s]*)?$/i.test(url) || !URL.canParse(url)) return refusal
    const { hostname, port, protocol } = new URL(url)
    return this.#judge(hostname, port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port))
  }

  /** Why an address, literal or resolved, is refused. @param name that it was resolved from */
  refusalOf(address: string, name?: string): string | undefined {
    const bytes = bytesOf(address)
    const isListed = bytes !== undefined && this.#networks.some((network) => contains(network, bytes))
    if (isListed) return undefined
    if (bytes === undefined || isForbidden(bytes) || name === undefined || !this.#allowsName(name))
      return `address ${address} is not among those that workers may have`
    return undefined
  }

  #allowsName(name: string): boolean {
    return this.#names.some((allowed) =>
      allowed.startsWith('*.') ? name.endsWith(allowed.slice(1)) : name === allowed,
    )
  }
}

/** A host as it is meant: odd forms of IPv4 (`0x7f.1`, `2130706433`) written out, names in lower case. */
function normalHost(host: string): string | undefined {
  const [, inner] = /^\[(.*)\]$/.exec(host) ?? []
  if (inner !== undefined) return isIP(inner) === 6 ? inner.toLowerCase() : undefined
  // A host pattern such as * binds.
  if (!/^[a-z0-9.-]+$/i.test(host)) return undefined
  try {
    return new URL(`http://${host}/`).hostname.toLowerCase()
  } catch {
    return undefined
  }
}

function networkOf(entry: string): { readonly bytes: readonly number[]; readonly bits: number } | undefined {
  const [address = '', bitsText, more] = entry.split('/')
  const bytes = bytesOf(address)
  if (bytes === undefined || more !== undefined) return undefined
  const own = isIP(address) === 4 ? 32 : 128
  const bits = bitsText === undefined ? own : Number(bitsText)
  if (!Number.isInteger(bits) || bits < 0 || bits > own) return undefined
  return { bytes, bits: own === 32 ? bits + 96 : bits }
}

/** The 16 bytes of an address, IPv4 in its mapped form. */
function bytesOf(address: string): number[] | undefined {
  if (isIP(address) === 4) return [...mappedPrefix, ...address.split('.').map(Number)]
  if (isIP(address) !== 6) return undefined
  const [, head = '', dotted] = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address) ?? [undefined, address]
  const [left = '', right] = head.split('::')
  const groups = (text: string): number[] =>
    text
      .split(':')
      .filter((group) => group !== '')
      .flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff])
  const tail = [...groups(right ?? ''), ...(dotted?.split('.').map(Number) ?? [])]
  const start = groups(left)
  return right === undefined && dotted === undefined
    ? start
    : [...start, ...Array.from({ length: 16 - start.length - tail.length }, () => 0), ...tail]
}

const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]

function contains(
  { bytes, bits }: { readonly bytes: readonly number[]; readonly bits: number },
  address: readonly number[],
) {
  for (let bit = 0; bit < bits; bit++) {
    const mask = 0x80 >> (bit & 7)
    if (((bytes[bit >> 3]! ^ address[bit >> 3]!) & mask) !== 0) return false
  }
  return true
}

/** Link-local and metadata addresses; only a list entry of their own network allows them. */
function isForbidden(address: readonly number[]): boolean {
  return forbidden.some((network) => contains(network, address))
}

const forbidden = ['169.254.0.0/16', 'fe80::/10', '100.100.100.200', 'fd00:ec2::254'].map((entry) =>
  networkOf(entry)!,
)
