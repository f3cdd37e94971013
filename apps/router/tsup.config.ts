import { preset } from '@router/tooling/tsup-preset'

export default preset({ entry: ['src/bin.ts'], platform: 'node', dts: false })
