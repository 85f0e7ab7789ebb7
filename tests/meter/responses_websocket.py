"""OpenAI's Responses by WebSocket, as Codex uses them: a request is a message, and each event of its reply is one.

A warm-up (`generate: false`) is answered, but it is no call: no tokens are used.
"""

import json
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol

from meter.vendor_replies import Json, ResponsesReply, SentCall

if TYPE_CHECKING:
    from meter.scripted_upstream import LoggedRequest, ScriptedUpstream, Step


def serve_responses(server: "ScriptedUpstream", connection: socket.socket, request: "LoggedRequest") -> None:
    """Answer the messages of a connection, whose request for an upgrade was read already."""
    protocol = ServerProtocol(extensions=[ServerPerMessageDeflateFactory()])
    lines = [
        f"{request.method} {request.path} HTTP/1.1",
        *(f"{name}: {value}" for name, value in request.headers),
    ]
    protocol.receive_data("\r\n".join([*lines, "", ""]).encode())
    (opening,) = protocol.events_received()
    assert isinstance(opening, Request)
    protocol.send_response(protocol.accept(opening))
    _send(protocol, connection)
    message: list[bytes] = []
    with suppress(OSError):
        while data := connection.recv(65536):
            protocol.receive_data(data)
            for frame in protocol.events_received():
                assert isinstance(frame, Frame)
                if frame.opcode in {Opcode.TEXT, Opcode.CONT}:
                    message.append(bytes(frame.data))
                    if frame.fin:
                        _answer(server, protocol, connection, request, json.loads(b"".join(message)))
                        message.clear()
            _send(protocol, connection)
            if protocol.close_expected():
                break


def _answer(
    server: "ScriptedUpstream",
    protocol: ServerProtocol,
    connection: socket.socket,
    opening: "LoggedRequest",
    body: Json,
) -> None:
    from meter.scripted_upstream import LoggedRequest  # noqa: PLC0415 - it imports this module when it is needed

    request = LoggedRequest("WEBSOCKET", opening.path, opening.headers, body=body, client=opening.client)
    if body.get("tools"):  # a later request continues this one, and does not repeat them
        opening.tools = [str(tool.get("name") or tool.get("type")) for tool in body["tools"]]
    request.tools = opening.tools
    if body.get("generate") is False:
        server.warm_ups += 1
        warm_up = ResponsesReply(0, body)
        done = warm_up.whole() | {"id": f"resp_warm_{server.warm_ups}", "usage": None, "output": []}
        _send_event(
            protocol, connection, {"type": "response.created", "response": {**done, "status": "in_progress"}}
        )
        _send_event(protocol, connection, {"type": "response.completed", "response": done})
        return
    server.log(request)
    step, reply, call = server.answer(ResponsesReply, request, body)
    _send_reply(step, reply, call, protocol, connection)


def _send_reply(
    step: "Step", reply: Any, call: SentCall, protocol: ServerProtocol, connection: socket.socket
) -> None:
    call.streamed, call.request_id = True, None
    call.status = 101 if step.status == 200 else step.status  # as HTTP has it
    if step.status >= 400:
        error = {"type": "rate_limit_error", "code": "rate_limit_exceeded", "message": "scripted"}
        _send_event(protocol, connection, {"type": "error", "status": step.status, "error": error})
        return
    call.model, call.response_id, call.token_source = reply.model, reply.response_id, "partial"
    for number, event in enumerate(reply.events()):
        _send_event(protocol, connection, event)
        if number == step.events - 1 and step.fault == "cut":
            connection.shutdown(socket.SHUT_RDWR)
            return
        if number == step.events - 1 and step.fault == "stall":
            while connection.recv(65536):
                pass
            return
    call.tokens, call.token_source = reply.tokens, "reported"


def _send_event(protocol: ServerProtocol, connection: socket.socket, event: Json) -> None:
    protocol.send_text(json.dumps(event).encode())
    _send(protocol, connection)


def _send(protocol: ServerProtocol, connection: socket.socket) -> None:
    for data in protocol.data_to_send():
        if data:
            connection.sendall(data)
