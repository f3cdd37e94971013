import { preset } from '@router/tooling/tsup-preset'

export default preset({
  entry: { index: 'src/index.ts', 'runner/index': 'src/runner/index.ts', cli: 'src/cli.ts' },
  platform: 'node',
})
