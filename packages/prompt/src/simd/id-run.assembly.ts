// Runs of token ids in JSON, eight bytes at a time. Built into id-run-module.ts by `pnpm run build:simd`; equal to what the plain loop of
// body/id-list.ts reads of them.

/**
 * Reads numbers of one to seven digits, each with a comma and at most one space behind it, as 32-bit words to `output`, until something
 * else comes, the input ends or there is no more `room`. Returns their count; the bytes that were read stand at `consumed`.
 */
export function readRun(input: usize, length: i32, output: usize, room: i32, consumed: usize): i32 {
  // The longest number, its comma and a space end within the input.
  const last = length - 9
  const end = output + (<usize>room << 2)
  let at = input
  let write = output
  while (<i32>(at - input) <= last && write < end) {
    // Digits are 0 to 9 now; of all other bytes the high bit is set below.
    const bytes = load<u64>(at) ^ 0x3030303030303030
    const others = (((bytes & 0x7f7f7f7f7f7f7f7f) + 0x7676767676767676) | bytes) & 0x8080808080808080
    // Eight digits or more where there are none.
    const bits = ctz(others) & 0x78
    if (bits === 0 || others === 0 || load<u8>(at + <usize>(bits >> 3)) !== 0x2c) break
    // Nothing follows a leading 0.
    if (bits > 8 && (bytes & 0xff) === 0) break
    // The last digit in the highest byte; then neighbours are added up: digits, pairs, fours.
    let value = bytes << (64 - bits)
    value = (value * 10 + (value >> 8)) & 0x00ff00ff00ff00ff
    value = (value * 100 + (value >> 16)) & 0x0000ffff0000ffff
    value = value * 10000 + (value >> 32)
    store<u32>(write, <u32>value)
    write += 4
    at += <usize>(bits >> 3) + 1
    if (load<u8>(at) === 0x20) at++
  }
  store<i32>(consumed, <i32>(at - input))
  return <i32>((write - output) >> 2)
}
