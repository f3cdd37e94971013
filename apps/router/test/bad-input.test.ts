import { describe, expect, test } from 'vitest'
import { explain, fileWith, run } from './support.js'

describe('wrong use: exit code 2, nothing on standard output', () => {
  test.each([
    [['explain', '--flet', 'x'], '(Did you mean --fleet?)'],
    [['explain', '--router-temprature', '1'], '(Did you mean --router-temperature?)'],
    [['explain', '--role', 'planner'], 'Allowed choices are aggregated, prefill, decode, encode'],
    [['explain', '--seed', '-1'], 'an integer from 0 to 2^64 - 1'],
    [['explain', '--seed', '18446744073709551616'], 'an integer from 0 to 2^64 - 1'],
    [['explain', '--policy-config', ''], "option '--policy-config <file>' argument '' is invalid"],
    [['explain', '--fleet', ' '], "option '--fleet <file>' argument ' ' is invalid"],
    [['explain', '--\u001B[2J'], "unknown option '--\\u001B[2J'"],
    [['explain', '--fleet'], "option '--fleet <file>' argument missing"],
    [['explain', 'something'], 'too many arguments'],
    [['explian'], '(Did you mean explain?)'],
  ])('%j', async (args, words) => {
    const { exitCode, output, errors } = await run(args)
    expect([exitCode, output]).toEqual([2, ''])
    expect(errors).toContain(words)
    expect(errors).toContain('--help')
  })
})

describe('help', () => {
  test('shows flags, settings and examples', async () => {
    const { exitCode, output, errors } = await explain('--help')
    expect([exitCode, errors]).toEqual([0, ''])
    for (const words of [
      '--policy-config <file>',
      '--fleet <file>',
      '--role <role>',
      '--json',
      '--seed <integer>',
      'Examples:',
    ]) {
      expect(output).toContain(words)
    }
    expect(output).toContain('--router-temperature <value>')
  })

  test('--version', async () => {
    expect(await run(['--version'])).toEqual({
      exitCode: 0,
      output: expect.stringMatching(/^\d+\.\d+\.\d+/u),
      errors: '',
    })
  })
})

describe('bad files: exit code 1, errors like those of a compiler', () => {
  const fleet = 'block_size: 16\nrequest: {prompt_tokens: 32}\nworkers:\n  - {worker_id: 1, ranks: [{}]}\n'

  test.each([
    [
      'an unknown key',
      'worker_selction: {}',
      ':1:1: unknown key',
      "did you mean 'worker_selection'?",
      'ROUTER_CONFIG_INVALID',
    ],
    ['broken YAML', 'router: [', ':1:', '', 'ROUTER_CONFIG_PARSE'],
    [
      'an unknown type',
      'worker_selection:\n  instances: [{name: a, type: kv-capacity-awar}]',
      ':2:31: ',
      "did you mean 'kv-capacity-aware'?",
      'ROUTER_POLICY_TYPE_UNKNOWN',
    ],
    [
      'a mistyped parameter',
      'worker_selection:\n  instances:\n    - name: a\n      type: dynamo-default-cost-fn\n      parameters:\n        prefil_load_scale: 1\n',
      ":6:9: unknown key 'prefil_load_scale'",
      "did you mean 'prefill_load_scale'?",
      'ROUTER_POLICY_PARAMETERS_INVALID',
    ],
    [
      'a parameter out of range',
      'worker_selection: {instances: [{name: a, type: kv-capacity-aware, parameters: {capacity_blocks: 0}}]}',
      ':1:97: ',
      'accepted: an integer > 0',
      'ROUTER_POLICY_PARAMETERS_INVALID',
    ],
    [
      'a package that is not there',
      'worker_selection: {instances: [{name: a, type: t, package: not-there}]}',
      ':1:60: ',
      '',
      'ROUTER_POLICY_PACKAGE_NOT_FOUND',
    ],
  ])('%s in the policy', async (_what, text, place, hint, code) => {
    const path = fileWith(text)
    const { exitCode, output, errors } = await explain('--policy-config', path)
    expect([exitCode, output]).toEqual([1, ''])
    expect(errors.startsWith(`${path}${place}`), errors).toBe(true)
    expect(errors).toContain(hint)
    expect(errors.endsWith(`error: ${code}`), errors).toBe(true)
  })

  test.each([
    [
      'an unknown key',
      fleet.replace('prompt_tokens', 'prompt_token'),
      ":2:11: unknown key 'prompt_token'",
      "did you mean 'prompt_tokens'?",
    ],
    [
      'a negative load',
      fleet.replace('{}', '{load: {active_prefill_tokens: -1, decode_cost_blocks: 0, active_requests: 0}}'),
      ':4:',
      'accepted: a number >= 0',
    ],
    [
      'half a load',
      fleet.replace('{}', '{load: {active_requests: 1}}'),
      ':4:',
      "missing key 'active_prefill_tokens'",
    ],
    ['a worker twice', `${fleet}  - {worker_id: 1, ranks: [{}]}\n`, ':5:17: ', 'worker 1 is listed twice'],
    ['a worker id beyond u64', fleet.replace('worker_id: 1', 'worker_id: -1'), ':4:17: ', '2^64 - 1'],
    ['a worker without ranks', fleet.replace('[{}]', '[]'), ':4:', 'at least one rank'],
    [
      'shared hits out of order',
      fleet.replace('32}', '32, shared_hits: [[2, 4], [1, 3]]}'),
      ':2:',
      'must ascend',
    ],
    [
      'shared hits beyond u32',
      fleet.replace('32}', '32, shared_hits: [[0, 9007199254740991]]}'),
      ':2:48: request.shared_hits[0][1] cannot be 9007199254740991',
      'accepted: an integer from 0 to 4294967295',
    ],
    [
      'a range of one number',
      fleet.replace('32}', '32, shared_hits: [[0]]}'),
      ':2:44: request.shared_hits[0] cannot be a list',
      'accepted: a list of 2: an integer from 0 to 4294967295, an integer from 0 to 4294967295',
    ],
    [
      'ranks beyond u32',
      fleet.replace('ranks', 'first_rank: 4294967295, ranks'),
      ":4:32: key 'first_rank' in workers[0] cannot be 4294967295: ranks are numbered up to 4294967294",
      'accepted: an integer from 0 to 4294967295',
    ],
    ['too many ranks', fleet.replace('{}', '{},'.repeat(4097)), ':4:', 'a worker has at most 4096 ranks'],
    [
      'an estimate without end',
      fleet.replace('{}', '{overlap: {estimate_blocks: 1e308}}'),
      ":4:56: key 'estimate_blocks' in workers[0].ranks[0].overlap cannot be 1e+308: times the block size it must be finite",
      'accepted: a number >= 0',
    ],
    [
      'a weight beyond float32',
      fleet.replace('32}', '32, preferred_taints: [{taint: a, weight: 1e39}]}'),
      ":2:68: key 'weight' in request.preferred_taints[0] cannot be 1e+39: must be finite as a 32-bit float",
      '',
    ],
    [
      'control characters',
      fleet.replace('{}', '{overlap: "\\e[31m\\a"}'),
      ":4:38: key 'overlap' in workers[0].ranks[0] cannot be '\\u001B[31m\\u0007'",
      'accepted: ',
    ],
    ['a block size of 0', fleet.replace('16', '0'), ':1:13: ', 'accepted: an integer >= 1'],
    [
      'an unknown role',
      `role: planner\n${fleet}`,
      ':1:7: ',
      "accepted: 'aggregated', 'prefill', 'decode', 'encode'",
    ],
    ['nothing', '', ':1:1: ', 'accepted: a mapping with keys of role, block_size, request, workers'],
  ])('%s in the fleet', async (_what, text, place, words) => {
    const path = fileWith(text)
    const { exitCode, output, errors } = await explain('--fleet', path)
    expect([exitCode, output]).toEqual([1, ''])
    expect(errors.startsWith(`${path}${place}`), errors).toBe(true)
    expect(errors).toContain(words)
  })

  test.each(['--policy-config', '--fleet'])('%s that is not there', async (flag) => {
    const { exitCode, errors } = await explain(flag, '/nowhere/at-all.yaml')
    expect(exitCode).toBe(1)
    expect(errors).toContain('/nowhere/at-all.yaml: cannot read the file')
    expect(errors).toContain('error: ROUTER_CONFIG_READ')
  })

  test('a bad flag value or variable is no wrong use of the command line, but names its origin', async () => {
    const flag = await explain('--router-temperature', 'warm')
    expect(flag).toMatchObject({ exitCode: 1, output: '' })
    expect(flag.errors).toContain("--router-temperature cannot be 'warm'")
    const variable = await run(['explain'], { DYN_ROUTER_TEMPERATURE: '' })
    expect(variable.errors).toContain("DYN_ROUTER_TEMPERATURE cannot be ''")
  })
})
