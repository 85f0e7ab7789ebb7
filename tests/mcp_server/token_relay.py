"""A relay that adds the token to each request, for test clients that cannot send headers of their own."""

import contextlib
import re
import socket
import threading
from collections.abc import Iterator

from mcp_server.http_server import HttpServer


@contextlib.contextmanager
def token_relay(server: HttpServer) -> Iterator[str]:
    """The URL of a relay to the server. It changes nothing else, but for its own port in Host and Origin."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]

    def accept() -> None:
        with contextlib.suppress(OSError):  # shut down at the end
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=_relay, args=(connection, port, server), daemon=True).start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield f"http://localhost:{port}/mcp"
    finally:
        listening.shutdown(socket.SHUT_RDWR)  # ends `accept`, which closing alone does not
        accepting.join()
        listening.close()


def _relay(client: socket.socket, port: int, server: HttpServer) -> None:
    with (
        client,
        socket.create_connection(("127.0.0.1", server.port)) as upstream,
        contextlib.suppress(OSError),
    ):
        data = b""
        while b"\r\n\r\n" not in data:
            block = client.recv(1 << 16)
            if not block:
                return
            data += block
        head, _, body = data.partition(b"\r\n\r\n")
        own = rb"(?im)^((?:host|origin): *\S*?:)%d\r?$" % port
        head = re.sub(own, rb"\g<1>%d" % server.port, head.replace(b"\r\n", b"\n"))
        head = re.sub(rb"(?im)^connection:.*\n?", b"", head).rstrip(b"\n")
        head = head.replace(b"\n", b"\r\n") + b"\r\nConnection: close\r\n"
        upstream.sendall(head + f"Authorization: Bearer {server.token}\r\n\r\n".encode() + body)
        threading.Thread(target=_copy, args=(client, upstream), daemon=True).start()
        _copy(upstream, client)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while block := source.recv(1 << 16):
            target.sendall(block)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
