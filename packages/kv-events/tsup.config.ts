import { preset } from '@router/tooling/tsup-preset'

export default preset({ entry: { index: 'src/index.ts', 'zeromq/index': 'src/zeromq/index.ts' } })
