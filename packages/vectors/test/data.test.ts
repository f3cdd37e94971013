import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { dataFolder, readDocument, readVectors, vectorFiles } from '../src/data.js'

const specFolder = fileURLToPath(new URL('../../../../shared/vectors/', import.meta.url))

describe.skipIf(!existsSync(specFolder))('the carried files and those beside the specification', () => {
  test('are the same files', () => {
    expect(readdirSync(dataFolder).toSorted()).toEqual(readdirSync(specFolder).toSorted())
  })

  test.each(existsSync(specFolder) ? readdirSync(specFolder) : [])('%s is the same byte for byte', (name) => {
    expect(readFileSync(`${dataFolder}${name}`).equals(readFileSync(`${specFolder}${name}`))).toBe(true)
  })
})

describe('reading', () => {
  test('lines are typed by the name of their file', () => {
    const line = readVectors('mix-rendezvous').find(({ kind }) => kind === 'mix')
    expect(line).toEqual({ kind: 'mix', input: '0', output: '0' })
  })

  test('integers that no double holds stay exact', () => {
    const text = JSON.stringify(readVectors('service-sessions'), (_key, value: unknown) =>
      typeof value === 'bigint' ? `${value}n` : value,
    )
    expect(text).toMatch(/"\d{17,20}n"/)
  })

  test('every carried file can be read', () => {
    for (const file of vectorFiles()) {
      const name = file.replace(/\.jsonl?$/, '')
      const content = file.endsWith('.jsonl') ? readVectors(name) : readDocument(name)
      expect(content, file).toBeTypeOf('object')
    }
    expect(vectorFiles()).toContain('hashing.json')
  })
})
