import { noAllocationInKernel } from './rules/no-allocation-in-kernel.js'
import { noPlatform } from './rules/no-platform.js'

export default {
  meta: { name: 'router' },
  rules: {
    'no-allocation-in-kernel': noAllocationInKernel,
    'no-platform': noPlatform,
  },
}
