"""The event side of an engine in Python: PUB for live batches, ROUTER that keeps the last ones. Commands come line by line on stdin."""

import json
import os
import struct
import sys

import msgpack
import zmq

KEPT = 10_000
TERMINATOR = b"\xff" * 8


def encoded(event):
    if event["type"] == "stored":
        tokens = event["tokens"]
        return ["BlockStored", event["hashes"], event["parent"], tokens, event["block_size"], None, "GPU", None]
    if event["type"] == "removed":
        return ["BlockRemoved", event["hashes"], "GPU"]
    return ["AllBlocksCleared"]


def main():
    context = zmq.Context()
    publisher = context.socket(zmq.PUB)
    publisher.set_hwm(100_000)
    router = context.socket(zmq.ROUTER)
    ports = [socket.bind_to_random_port("tcp://127.0.0.1") for socket in (publisher, router)]
    print(json.dumps({"ports": ports}), flush=True)

    kept = []
    sequence = 0
    unread = b""
    poller = zmq.Poller()
    poller.register(router, zmq.POLLIN)
    poller.register(sys.stdin, zmq.POLLIN)
    while True:
        ready = dict(poller.poll())
        if router in ready:
            frames = router.recv_multipart()
            if len(frames) == 3:
                identity, _, wanted = frames
                first = int.from_bytes(wanted, "big")
                for number, payload in kept:
                    if number >= first:
                        router.send_multipart([identity, b"", number.to_bytes(8, "big"), payload])
                router.send_multipart([identity, b"", TERMINATOR, b""])
                print(json.dumps({"asked": first}), flush=True)
        if sys.stdin.fileno() in ready:
            data = os.read(sys.stdin.fileno(), 1 << 20)
            if not data:
                return
            unread += data
            *lines, unread = unread.split(b"\n")
            for line in lines:
                command = json.loads(line)
                payload = msgpack.packb([command["ts"], [encoded(event) for event in command["events"]], command.get("rank")])
                kept.append((sequence, payload))
                del kept[:-KEPT]
                if not command.get("lose"):
                    publisher.send_multipart([b"", struct.pack(">Q", sequence), payload])
                sequence += 1


if __name__ == "__main__":
    main()
