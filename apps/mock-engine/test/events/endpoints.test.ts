import { describe, expect, it } from 'vitest'
import { endpointOfRank, isBoundByEngine, reachable } from '../../src/events/endpoints.js'
import { codeOf } from '../support/codes.js'

describe('the endpoint of a rank', () => {
  it.each([
    ['tcp://*:5557', 0, 'tcp://*:5557'],
    ['tcp://*:5557', 3, 'tcp://*:5560'],
    ['tcp://[::1]:5557', 1, 'tcp://[::1]:5558'],
    ['tcp://*:0', 2, 'tcp://*:0'],
    ['tcp://127.0.0.1:*', 2, 'tcp://127.0.0.1:0'],
    ['inproc://x', 0, 'inproc://x'],
    ['inproc://x', 2, 'inproc://x_dp2'],
    ['ipc:///tmp/x', 0, 'ipc:///tmp/x'],
  ])('%s of rank %d is %s', (endpoint, rank, expected) => {
    expect(endpointOfRank(endpoint, rank)).toBe(expected)
  })

  it.each([
    ['ipc:///tmp/x', 1],
    ['tcp://*', 0],
    ['tcp://*:65535', 1],
    ['tcp://*:x', 0],
    ['udp://*:5557', 0],
    ['inproc://', 0],
    ['', 0],
  ])('%s of rank %d is none', (endpoint, rank) => {
    expect(codeOf(() => endpointOfRank(endpoint, rank))).toBe('MOCK_ENGINE_ENDPOINT_INVALID')
  })
})

it.each([
  ['tcp://*:5557', true],
  ['tcp://[::]:5557', true],
  ['tcp://[::1]:5557', true],
  ['ipc:///tmp/x', true],
  ['inproc://x', true],
  ['tcp://127.0.0.1:0', true],
  ['tcp://127.0.0.1:5557', false],
  ['tcp://router:5550', false],
])('%s is bound: %s', (endpoint, expected) => {
  expect(isBoundByEngine(endpoint)).toBe(expected)
})

it.each([
  ['tcp://0.0.0.0:5557', 'tcp://127.0.0.1:5557'],
  ['tcp://[::]:5557', 'tcp://127.0.0.1:5557'],
  ['tcp://127.0.0.1:5557', 'tcp://127.0.0.1:5557'],
  ['tcp://router:5557', 'tcp://router:5557'],
  ['inproc://x', 'inproc://x'],
])('what is bound at %s is found at %s', (endpoint, expected) => {
  expect(reachable(endpoint)).toBe(expected)
})
