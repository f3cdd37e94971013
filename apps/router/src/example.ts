import { fileURLToPath } from 'node:url'

/** The files of `example/`, wherever the package is. */
export const examplePolicy = fileURLToPath(new URL('../example/policy.yaml', import.meta.url))
export const exampleFleet = fileURLToPath(new URL('../example/fleet.yaml', import.meta.url))
