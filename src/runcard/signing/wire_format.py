"""The binary encoding of SSH keys and signatures: 32-bit numbers, and strings after their length."""

from runcard.errors import DocumentError


class WireFormatError(DocumentError):
    """Bytes that are not an SSH key or signature."""


def string(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


class WireReader:
    """Reads numbers and strings from the front of some bytes."""

    def __init__(self, data: bytes) -> None:
        self._rest = memoryview(data)

    def take(self, count: int) -> bytes:
        if count > len(self._rest):
            raise WireFormatError("it ends too early")
        taken, self._rest = bytes(self._rest[:count]), self._rest[count:]
        return taken

    def number(self) -> int:
        return int.from_bytes(self.take(4), "big")

    def string(self) -> bytes:
        return self.take(self.number())

    def text(self) -> str:
        try:
            return self.string().decode("ascii")
        except UnicodeDecodeError:
            raise WireFormatError("a name in it is not ASCII") from None

    def integer(self) -> int:
        return int.from_bytes(self.string(), "big", signed=True)

    def finish(self) -> None:
        if len(self._rest):
            raise WireFormatError("it has more bytes than it should")
