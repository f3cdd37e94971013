export { endpointOfRank } from './endpoints.js'
export { EventSocket, type EventSocketOptions } from './event-socket.js'
