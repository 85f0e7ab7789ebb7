"""Archives in object storage, compared with `obstore` alone: uploading and reading back, and one file out of a large archive.

The server is `moto`, a process on this machine, so the times are those of a server without a network, written in Python. In
front of it a relay counts requests and bytes. `obstore` puts the same bytes and gets them again; runcard also hashes,
decompresses and compares them.
"""

import os
import re
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import runcard
from bench.measuring import race, scratch, timed, two_cores
from bench.table import Row, Target, Times, at_most, faster

FILE = 16 << 20
_KEYS = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_REGION": "us-east-1"}


def measure(*, quick: bool = False) -> Iterator[Row]:
    with (
        two_cores(),
        scratch() as folder,
        server(folder) as port,
        _relay(port) as relay,
        new_bucket(relay.port) as bucket,
    ):
        yield _upload(folder, bucket, 3 if quick else 12, rounds=3 if quick else 5)
        yield from _one_file(folder, bucket, 8 if quick else 64, relay)


def _upload(folder: Path, bucket: str, files: int, *, rounds: int) -> Row:
    """Upload an archive and read it back."""
    import obstore  # noqa: PLC0415 - not every part needs it
    from obstore.store import from_url  # noqa: PLC0415

    from runcard.store.archives.pack import pack  # noqa: PLC0415
    from runcard.store.archives.scan import scan  # noqa: PLC0415
    from runcard.store.remote.upload import Uploader  # noqa: PLC0415
    from runcard.store.remote.urls import ObjectUrl  # noqa: PLC0415

    record, packed = _record(folder / "upload", files), folder / "packed.tar.gz"
    with packed.open("w+b") as file:
        pack(str(record), record.name, file.fileno())
    contents = scan(str(packed))
    store = from_url(f"s3://{bucket}", client_options={"allow_http": True, "timeout": "600s"})

    def ours() -> float:
        place = ObjectUrl.parse(f"s3://{bucket}/{secrets.token_hex(4)}")
        with packed.open("rb") as file:
            return timed(Uploader(place).put, place.below("m/i/x.tar.gz"), file.fileno(), contents, [], None)

    def theirs() -> float:
        key = secrets.token_hex(4)

        def both() -> None:
            obstore.put(store, key, packed, chunk_size=32 << 20)
            for _ in obstore.get(store, key):
                pass

        return timed(both)

    times = race({"ours": ours, "obstore": theirs}, rounds)
    size = packed.stat().st_size / 1e6
    work = f"upload an archive of {size:,.0f} MB and read it back"
    return Row(work, times["ours"], "obstore put and get", times["obstore"], "s", faster(0.8))


def _one_file(folder: Path, bucket: str, files: int, relay: "_Relay") -> Iterator[Row]:
    """One file of 16 MiB out of an archive: requests, and bytes."""
    from runcard.operations.archives.extract import extract  # noqa: PLC0415

    record = _record(folder / "extract", files)
    archive = runcard.archive(record, to=f"s3://{bucket}/extract").archive_path
    relay.reset()
    list(extract(archive, [f"{files // 2:03}.bin"], folder / "out"))
    name = f"one file of 16 MiB out of a remote archive of {files * FILE / 1e9:.1f} GB"
    requests = Times.once(relay.requests)
    yield Row(f"{name}: requests", requests, "", None, "", Target("<=", 4, ""))
    sent = Times.once(relay.bytes / 1e6)
    yield Row(f"{name}: bytes", sent, "the file itself", Times.once(FILE / 1e6), "MB", at_most(2))


def _record(store: Path, files: int) -> Path:
    with runcard.record(store, model="m", provider="p", strict=True) as run:
        for number in range(files):
            (Path(run.path) / f"{number:03}.bin").write_bytes(os.urandom(FILE))
    return Path(run.path)


@contextmanager
def new_bucket(port: int) -> Iterator[str]:
    """A bucket of the server at a port, which is the one that runcard uses inside."""
    import boto3  # noqa: PLC0415 - as above

    before = dict(os.environ)
    os.environ.update(_KEYS, AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}")
    try:
        name = f"bench-{secrets.token_hex(4)}"
        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket=name)
        yield name
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def server(folder: Path) -> Iterator[int]:
    """The port of an S3 server."""
    log, program = folder / "server.log", "from moto.server import main; main(['-H', '127.0.0.1', '-p', '0'])"
    with log.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-c", program], stdout=file, stderr=file)
    try:
        while (found := re.search(r"http://127\.0\.0\.1:(\d+)", log.read_text())) is None:
            if process.poll() is not None:
                raise RuntimeError(log.read_text())
            time.sleep(0.1)
        yield int(found[1])
    finally:
        process.kill()
        process.wait()


class _Relay:
    """Passes bytes on to a port, and counts what passes."""

    def __init__(self, port: int) -> None:
        self._upstream = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self.requests = self.bytes = 0  # requests, and bytes of answers
        threading.Thread(target=self._accept, daemon=True).start()

    def reset(self) -> None:
        self.requests = self.bytes = 0

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._upstream))
            for source, target, is_answer in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._pump, args=(source, target, is_answer), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:  # noqa: FBT001 - for a thread
        try:
            while data := source.recv(1 << 18):
                target.sendall(data)
                with self._lock:
                    if is_answer:
                        self.bytes += len(data)
                    else:
                        self.requests += data.count(b" HTTP/1.1\r\n")
        except OSError:
            pass
        finally:
            for end in (source, target):
                end.close()


@contextmanager
def _relay(port: int) -> Iterator[_Relay]:
    relay = _Relay(port)
    try:
        yield relay
    finally:
        relay.close()
