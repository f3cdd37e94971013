import type { Options } from 'tsup'

/** The one build of every published package; `overrides` replace single options and `define` is merged. */
export declare function preset(overrides?: Options): Options
