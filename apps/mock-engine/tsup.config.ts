import { preset } from '@router/tooling/tsup-preset'

export default preset({ entry: ['src/index.ts', 'src/bin.ts'], platform: 'node' })
