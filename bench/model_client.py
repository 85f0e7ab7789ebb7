"""A program that calls a model, for benchmarks: the same calls to several base URLs in turns, timed.

Usage: model_client.py WORK ROUNDS NAME=URL... The URL `env` is that of the variable ANTHROPIC_BASE_URL, which `runcard run`
sets. It reads the stream piece by piece, with the standard library, and does nothing else with it. Prints a JSON object: for each name a list of seconds.

    first-byte   calls one after the other: until the first event is there
    stream       one call with a stream of about 100 MB, in events of 12 bytes of text (or ROUNDS with a slash: `3/1000`)
    together     64 calls at once, each with 20 events in 200 ms: until all are complete
"""

import http.client
import json
import os
import sys
import threading
import time
from urllib.parse import urlsplit

BODY = json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 64, "stream": True, "messages": []}).encode()
EVENT_OVERHEAD = 128  # bytes of an event without its text
MB = 1_000_000


class Client:
    """One connection."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=600)
        self._path = f"{parts.path}/v1/messages"

    def call(self, **headers: str) -> tuple[float, float]:
        """Seconds until the first event, and until the end."""
        began = time.perf_counter()
        self._connection.request("POST", self._path, BODY, {"x-api-key": "none", **headers})
        response = self._connection.getresponse()
        last = response.read1(1 << 16)
        seconds = time.perf_counter() - began
        while data := response.read1(1 << 16):
            last = last[-100:] + data
        if response.status != 200 or b"message_stop" not in last:
            raise SystemExit(f"{response.status}: {last!r}")
        return seconds, time.perf_counter() - began

    def close(self) -> None:
        self._connection.close()


def first_byte(urls: dict[str, str], rounds: str) -> dict[str, list[float]]:
    clients = {name: Client(url) for name, url in urls.items()}
    seconds: dict[str, list[float]] = {name: [client.call()[0]] for name, client in clients.items()}
    for _ in range(int(rounds)):
        for name, client in clients.items():
            seconds[name].append(client.call()[0])
    return seconds


def stream(urls: dict[str, str], rounds: str) -> dict[str, list[float]]:
    turns, _, given = rounds.partition("/")
    text, megabytes = (given or "12:100").split(":")
    events = int(megabytes) * MB // (EVENT_OVERHEAD + int(text))
    seconds: dict[str, list[float]] = {name: [] for name in urls}
    for _ in range(int(turns)):
        for name, url in urls.items():
            client = Client(url)
            client.call()
            seconds[name].append(client.call(**{"x-bench-events": str(events), "x-bench-text": text})[1])
            client.close()
    return seconds


def together(urls: dict[str, str], rounds: str, calls: int = 64) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in urls}
    for _ in range(int(rounds)):
        for name, url in urls.items():
            clients = [Client(url) for _ in range(calls)]
            options = {"x-bench-events": "20", "x-bench-pause": "0.01"}
            threads = [threading.Thread(target=client.call, kwargs=options) for client in clients]
            began = time.perf_counter()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            seconds[name].append(time.perf_counter() - began)
            for client in clients:
                client.close()
    return seconds


WORKS = {"first-byte": first_byte, "stream": stream, "together": together}


def peak_memory(process: str) -> float | None:
    """The most memory that a process had so far, in MiB."""
    try:
        with open(f"/proc/{process}/status", encoding="utf-8") as status:
            lines = dict(line.split(":", 1) for line in status)
    except OSError:
        return None
    return int(lines["VmHWM"].split()[0]) / 1024


def main() -> None:
    work, rounds, *words = sys.argv[1:]
    urls = dict(word.split("=", 1) for word in words)
    processes = {name: url.partition("#")[2] or str(os.getppid()) for name, url in urls.items()}
    urls = {
        name: os.environ["ANTHROPIC_BASE_URL"] if url == "env" else url.partition("#")[0]
        for name, url in urls.items()
    }
    for url in urls.values():  # the relay is started with the first call
        Client(url).call() if work != "first-byte" else None
    before = {name: peak_memory(process) for name, process in processes.items()}
    seconds = WORKS[work](urls, rounds)
    after = {name: peak_memory(process) for name, process in processes.items()}
    memory = {name: (after[name] or 0) - (before[name] or 0) for name in urls}
    print(json.dumps({"seconds": seconds, "megabytes": memory, "peak": after}))


if __name__ == "__main__":
    main()
