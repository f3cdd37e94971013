/** XXH3-64, seed 0, of bytes: how block hashes that an engine publishes as digests become 64 bits. */
export type ByteHash = (bytes: Uint8Array) => bigint
