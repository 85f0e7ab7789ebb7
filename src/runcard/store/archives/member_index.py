"""The member index beside an archive: at which offset to look for a path.

It has one line for each member of the archive, so it stays small. It is a hint, not evidence: data found with it is
checked like all data, and one that is missing, damaged or of another archive is made again.
"""

from base64 import b64decode, b64encode
from bisect import bisect_left, bisect_right
from typing import Any, Self

from runcard.digests import sha256_bytes
from runcard.encoding import COMPACT, decode_json, encode_json
from runcard.errors import EncodingError
from runcard.files import encode_name, json_name
from runcard.store.archives.scan import ArchiveContents

_VERSION = "1.0.0"


def encode_offsets(contents: ArchiveContents) -> bytes:
    """The index of an archive that was read."""
    members = [[member.offset, written_path(member.path)] for member in contents.members]
    header = {"version": _VERSION, "sha256": contents.sha256, "bytes": contents.file_bytes}
    return encode_json({**header, "members": members}, COMPACT)


def written_path(path: str) -> Any:  # noqa: ANN401 - a text, or its bytes where they are none
    """A path for the index."""
    name = json_name(path)
    return name.text if name.base64 is None else {"base64": b64encode(encode_name(path)).decode()}


class MemberOffsets:
    """Where to look for paths in one archive."""

    def __init__(self, members: list[tuple[int, bytes]]) -> None:
        self._offsets = [offset for offset, _ in members]
        self._paths = [path for _, path in members]
        self.are_known = bool(members)  # not so for what another program packed: it can be in any order

    @classmethod
    def of(cls, contents: ArchiveContents) -> Self:
        """The places of an archive that was read."""
        return cls([(place.offset, encode_name(place.path)) for place in contents.members])

    def last_of(self, path: str) -> int | None:
        """The offset of the last member that can have something of a path in it; None if that may be any."""
        at = bisect_left(self._paths, encode_name(path) + b"0") if path else len(self._paths)
        return self._offsets[at] if at < len(self._offsets) else None

    def after(self, offset: int) -> int | None:
        """The offset of the next member in the index; None for the last one."""
        at = bisect_right(self._offsets, offset)
        return self._offsets[at] if at < len(self._offsets) else None

    def before(self, path: str) -> int:
        """The offset to read from to find a path, and everything below it."""
        at = bisect_right(self._paths, encode_name(path)) - 1
        return self._offsets[at] if at > 0 else 0


def parse_offsets(raw: bytes, digest: str | None, size: int) -> MemberOffsets | None:
    """The offsets in the member index of an archive of this size; None when it does not match it, or this digest of its own."""
    try:
        if digest is not None and sha256_bytes(raw).hex != digest:
            return None
        data = decode_json(raw)
        members = [(offset, parse_path(path)) for offset, path in data["members"]]
        good = (
            data["bytes"] == size
            and str(data["version"]).startswith("1.")
            and all(isinstance(offset, int) for offset, _ in members)
        )
    except (EncodingError, KeyError, TypeError, ValueError):
        return None
    return MemberOffsets(members) if good and members else None


def parse_path(written: Any) -> bytes:  # noqa: ANN401
    """The path in the index."""
    return b64decode(written["base64"]) if isinstance(written, dict) else encode_name(written)
