export * from './convert/source-memory.js'
export * from './decode/batch-reader.js'
export * from './normalised.js'
export * from './reasons.js'
