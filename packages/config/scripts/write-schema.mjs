import { writeFileSync } from 'node:fs'
import { routerPolicyJsonSchemaText } from '../dist/index.js'

// Writes schema/router-policy.schema.json from the zod schemas of the built package: `pnpm run schema`.

const file = new URL('../schema/router-policy.schema.json', import.meta.url)
writeFileSync(file, routerPolicyJsonSchemaText())
