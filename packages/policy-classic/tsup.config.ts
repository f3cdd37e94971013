import { preset } from '@router/tooling/tsup-preset'

export default preset()
