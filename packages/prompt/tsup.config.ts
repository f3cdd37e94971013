import { preset } from '@router/tooling/tsup-preset'

export default preset({ entry: ['src/index.ts', 'src/threads/worker.ts'], platform: 'node' })
