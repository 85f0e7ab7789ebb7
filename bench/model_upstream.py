"""A provider on this machine, for benchmarks: streams as many events as a request asks for, as fast as it can.

Usage: model_upstream.py. Prints its port. A request of Anthropic Messages says in headers what it wants: `x-bench-events`
(how many pieces of text), `x-bench-text` (bytes of each), `x-bench-pause` (seconds between them). Each event is a chunk, as
providers send them; without a pause, many chunks are sent at once.
"""

import json
import re
import socket
import threading
import time

HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nrequest-id: req_bench\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
USAGE = {"input_tokens": 1000, "output_tokens": 1}
BATCH = 1 << 16  # bytes that are sent at once, without a pause


def chunk(event: str, **data: object) -> bytes:
    text = f"event: {event}\ndata: {json.dumps({'type': event, **data})}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(text), text)


def start() -> bytes:
    message = {
        "id": "msg_bench",
        "model": "claude-sonnet-4-5",
        "role": "assistant",
        "content": [],
        "usage": USAGE,
    }
    block = {"type": "text", "text": ""}
    return chunk("message_start", message=message) + chunk(
        "content_block_start", index=0, content_block=block
    )


def end(events: int) -> bytes:
    delta = chunk("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": events})
    return chunk("content_block_stop", index=0) + delta + chunk("message_stop") + b"0\r\n\r\n"


def header(head: bytes, name: str, default: str) -> float:
    found = re.search(rb"(?im)^" + name.encode() + rb": *([0-9.]+)", head)
    return float(found[1] if found else default)


def reply(connection: socket.socket, head: bytes) -> None:
    events, pause = int(header(head, "x-bench-events", "10")), header(head, "x-bench-pause", "0")
    text = "x" * int(header(head, "x-bench-text", "12"))
    event = chunk("content_block_delta", index=0, delta={"type": "text_delta", "text": text})
    connection.sendall(HEAD + start())
    if pause:
        for _ in range(events):
            time.sleep(pause)
            connection.sendall(event)
    else:
        batch = max(1, BATCH // len(event))
        blob = event * batch
        for _ in range(events // batch):
            connection.sendall(blob)
        connection.sendall(event * (events % batch))
    connection.sendall(end(events))


def serve(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    waiting = b""
    with connection:
        while True:
            while b"\r\n\r\n" not in waiting:
                data = connection.recv(1 << 16)
                if not data:
                    return
                waiting += data
            head, _, waiting = waiting.partition(b"\r\n\r\n")
            length = int(header(head, "content-length", "0"))
            while len(waiting) < length:
                waiting += connection.recv(1 << 16)
            waiting = waiting[length:]
            reply(connection, head)


def main() -> None:
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    print(listening.getsockname()[1], flush=True)
    while True:
        connection, _ = listening.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
