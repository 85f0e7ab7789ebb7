"""The bytes of an archive in a bucket, read from front to back as they are asked for.

A part of an archive is one request, whose bytes are taken as they come. A whole archive is read in windows, several at a time.
A connection that is cut is opened again where it ended. All requests are for the version that the first one saw: an object
that is replaced meanwhile is an error.
"""

from collections import deque
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from runcard.errors import MachineError, StoreError
from runcard.files import printable, shell_word
from runcard.parallel.calls import CallThreads
from runcard.store.remote.bucket import bucket_of
from runcard.store.remote.urls import ObjectUrl

if TYPE_CHECKING:
    from runcard.parallel.calls import ThreadCall

_SMALLEST_WINDOW, _LARGEST_WINDOW = 8 << 20, 32 << 20  # bytes of a request when all of an archive is read
_WINDOWS = 8  # of an archive, unless they would be smaller or larger than that
_AHEAD = 3  # windows that are on their way
_CHUNK = 1 << 20  # bytes that are taken at once from a request for a part
_ATTEMPTS = 5  # at the same place


class RemoteSource:
    """An archive in a bucket."""

    def __init__(self, url: ObjectUrl, size: int, etag: str | None) -> None:
        self._url, self._bucket, self._etag = url, bucket_of(url), etag
        self.size = size
        self._end: int | None = None
        self._start, self._data = 0, b""  # what is at hand
        self._chunks: Generator[bytes] | None = None

    def expect(self, end: int | None) -> None:
        """Say that nothing behind this offset will be asked for; the part before it is then one request."""
        self._end = end

    def read(self, offset: int, length: int) -> bytes:
        length = max(min(length, self.size - offset), 0)
        if not self._start <= offset <= self._start + len(self._data):
            self._go_to(offset)
        if offset + length > self._start + len(self._data):
            self._load(offset, length)
        at = offset - self._start
        return self._data[at : at + length]

    def close(self) -> None:
        """Stop what is on its way."""
        if self._chunks is not None:
            self._chunks.close()
            self._chunks = None

    def _go_to(self, offset: int) -> None:
        self.close()
        self._start, self._data = offset, b""

    def _load(self, offset: int, length: int) -> None:
        """Have so many bytes at hand from an offset on; those before it are given up."""
        parts = [self._data[offset - self._start :]]
        self._start, missing = offset, length - len(parts[0])
        attempts = 0
        while missing > 0:
            try:
                chunk = next(self._opened(offset + length - missing), b"")
                if not chunk:
                    raise _cut(self._url)
                attempts = 0
            except MachineError:
                self.close()
                attempts += 1
                if attempts == _ATTEMPTS:
                    raise
                continue
            parts.append(chunk)
            missing -= len(chunk)
        self._data = b"".join(parts)

    def _opened(self, offset: int) -> Iterator[bytes]:
        """The bytes from the end of what is at hand on."""
        if self._chunks is None:
            end = self.size if self._end is None or self._end <= offset else self._end
            read = self._windows if self._end is None else self._stream
            self._chunks = read(offset, end)
        return self._chunks

    def _stream(self, start: int, end: int) -> Generator[bytes]:
        """One request."""
        result = self._bucket.get(self._url, (start, end), self._etag)
        if result is None:
            raise _removed(self._url)
        self._check(result.meta["size"], result.meta["e_tag"])
        yield from self._bucket.chunks(self._url, result, _CHUNK)

    def _windows(self, start: int, end: int) -> Generator[bytes]:
        """Several requests at a time."""
        under_way: deque[ThreadCall[bytes]] = deque()
        size = min(max(self.size // _WINDOWS + 1, _SMALLEST_WINDOW), _LARGEST_WINDOW)
        with closing(CallThreads(_AHEAD)) as threads:
            for at in range(start, end, size):
                span = (at, min(at + size, end))
                under_way.append(threads.submit(partial(self._window, span)))
                if len(under_way) > _AHEAD:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()

    def _window(self, span: tuple[int, int]) -> bytes:
        result = self._bucket.get(self._url, span, self._etag)
        if result is None:
            raise _removed(self._url)
        return b"".join(self._bucket.chunks(self._url, result, _LARGEST_WINDOW))

    def _check(self, size: int, etag: str | None) -> None:
        """The first answer settles which version is read."""
        if size != self.size:
            raise StoreError(
                f"{printable(str(self._url))} has {size:,} bytes, and its index says {self.size:,}",
                hint=f"see all that is wrong with it: runcard verify {shell_word(str(self._url))}",
            )
        self._etag = self._etag or etag


@contextmanager
def open_object(url: ObjectUrl, size: int | None = None) -> Iterator[RemoteSource]:
    """An archive in a bucket; a size that is known saves a request."""
    etag = None
    if size is None:
        state = bucket_of(url).state(url)
        if state is None:
            raise missing_archive(url)
        size, etag = state.size, state.etag
    with closing(RemoteSource(url, size, etag)) as source:
        yield source


@contextmanager
def open_stream(url: ObjectUrl) -> Iterator[RemoteSource]:
    """An archive in a bucket that is read from end to end in one request."""
    with open_object(url) as source:
        source.expect(source.size)
        yield source


def check_archive(url: str) -> None:
    """Raise StoreError if an archive is not there: what is beside it may be, when it is written or was removed."""
    archive = ObjectUrl.parse(url)
    if bucket_of(archive).state(archive) is None:
        raise missing_archive(archive)


def missing_archive(url: ObjectUrl) -> StoreError:
    """The error to raise about an archive that is not there."""
    return StoreError(
        f"{printable(str(url))} does not exist",
        hint=f"list what is there: runcard index {shell_word(str(url.folder))}",
    )


def _removed(url: ObjectUrl) -> StoreError:
    return StoreError(
        f"{printable(str(url))} does not exist, or was removed while it was read", hint="check the URL"
    )


def _cut(url: ObjectUrl) -> MachineError:
    return MachineError(f"cannot read {printable(str(url))}: the connection was cut", hint="try again later")
