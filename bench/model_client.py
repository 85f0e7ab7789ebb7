"""A program that calls a model, for benchmarks: the same calls to several base URLs in turns, timed.

Usage: model_client.py WORK ROUNDS NAME=URL... The URL `env` is that of the variable ANTHROPIC_BASE_URL, which `runcard run`
sets; behind a `#` stands the process whose memory counts, else it is the parent. The stream is read piece by piece, with
the standard library. Prints a JSON object: for each name the seconds of each round, and the peak memory before and after.

    first-byte   calls one after the other: until the first event is there. The first round starts the connection
    stream       one call with 100 MB of events, each with a few words, as providers send them
    large-events the same, in events of 16 kB
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
STREAM = int(os.environ.get("BENCH_STREAM", "100")) * 1_000_000  # bytes
AT_ONCE = 64
PAUSE = 0.01  # seconds between two calls: no model answers faster


class Client:
    """One connection."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=600)
        self._path = f"{parts.path}/v1/messages"

    def call(self, events: int = 10, text: int = 12, pause: float = 0) -> tuple[float, float]:
        """Seconds until the first event, and until the end."""
        wanted = {"x-bench-events": str(events), "x-bench-text": str(text), "x-bench-pause": str(pause)}
        began = time.perf_counter()
        self._connection.request("POST", self._path, BODY, {"x-api-key": "none", **wanted})
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


def first_byte(urls: dict[str, str], rounds: int) -> dict[str, list[float]]:
    clients = {name: Client(url) for name, url in urls.items()}
    seconds: dict[str, list[float]] = {name: [] for name in urls}
    for _ in range(rounds):
        for name, client in clients.items():
            seconds[name].append(client.call()[0])
            time.sleep(PAUSE)
    return seconds


def stream(urls: dict[str, str], rounds: int, text: int = 12) -> dict[str, list[float]]:
    events = STREAM // (EVENT_OVERHEAD + text)
    seconds: dict[str, list[float]] = {name: [] for name in urls}
    for _ in range(rounds):
        for name, url in urls.items():
            client = Client(url)
            client.call()
            seconds[name].append(client.call(events, text)[1])
            client.close()
    return seconds


def large_events(urls: dict[str, str], rounds: int) -> dict[str, list[float]]:
    return stream(urls, rounds, 16_000)


def together(urls: dict[str, str], rounds: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in urls}
    for _ in range(rounds):
        for name, url in urls.items():
            clients = [Client(url) for _ in range(AT_ONCE)]
            threads = [threading.Thread(target=client.call, args=(20, 12, 0.01)) for client in clients]
            began = time.perf_counter()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            seconds[name].append(time.perf_counter() - began)
            for client in clients:
                client.close()
    return seconds


WORKS = {"first-byte": first_byte, "stream": stream, "large-events": large_events, "together": together}


def peak_memory(process: str) -> float:
    """The most memory that a process had so far, in MiB; 0 where the system does not say."""
    try:
        with open(f"/proc/{process}/status", encoding="utf-8") as status:
            lines = dict(line.split(":", 1) for line in status)
    except OSError:
        return 0
    return int(lines["VmHWM"].split()[0]) / 1024


def main() -> None:
    work, rounds, *words = sys.argv[1:]
    targets = {name: url.partition("#") for name, url in (word.split("=", 1) for word in words)}
    processes = {name: process or str(os.getppid()) for name, (_, _, process) in targets.items()}
    urls = {
        name: os.environ["ANTHROPIC_BASE_URL"] if url == "env" else url
        for name, (url, _, _) in targets.items()
    }
    began = first_byte(urls, 1)  # the relay is started with the first call
    before = {name: peak_memory(process) for name, process in processes.items()}
    seconds = WORKS[work](urls, int(rounds))
    peaks = {name: (before[name], peak_memory(process)) for name, process in processes.items()}
    print(json.dumps({"began": began, "seconds": seconds, "peaks": peaks}))


if __name__ == "__main__":
    main()
