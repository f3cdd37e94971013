/** A salt that begins so is one that events of engines show (host.md 2.5). */
const shownSaltPrefix = 'dynamo-cache-salt:'

/** The top-level `cache_salt` that an engine gets for a salt, so that the events of its blocks show that very salt. */
export function sentSalt(salt: string): string {
  return shownSaltPrefix + salt
}

/**
 * What sets a prompt apart whose client wrote its own top-level `cache_salt`, which reaches the engine as it is. Behind the prefix stands
 * the salt that events show. One without it is shown by no event: its blocks look like blocks without salt. Then the whole text behind the
 * prefix sets it apart, a salt that only such a request has: it matches what the router itself noted of such requests, and never the blocks
 * of others. An engine tells the two apart as well, also where a client writes what another gives as a header.
 */
export function saltOfClient(written: string): string {
  const isShown = written.startsWith(shownSaltPrefix) && written.length > shownSaltPrefix.length
  return isShown ? written.slice(shownSaltPrefix.length) : shownSaltPrefix + written
}
