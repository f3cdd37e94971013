export * from './block-index.js'
export * from './errors.js'
export * from './hash-words.js'
export * from './tier.js'
