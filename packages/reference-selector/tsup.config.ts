import { preset } from '@router/tooling/tsup-preset'

export default preset({ entry: { index: 'src/index.ts', 'parity/index': 'src/parity/index.ts' } })
