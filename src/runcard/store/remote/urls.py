"""URLs of object storage, and the names of objects in a folder of archives there.

```
<url>/2026-01/<id>/<name>.tar.gz             the archive: created last, and never replaced
<url>/2026-01/<id>/<name>.metadata.json      a copy of the metadata document
<url>/2026-01/<id>/<name>.metadata.json.sig  and of its signature, if it has one
<url>/2026-01/<id>/<name>.SHA256SUMS         and of the listing
<url>/2026-01/<id>/<name>.index.json         the member index, with the digest of the archive
<url>/.runcard/ledger-<host>/00000001.jsonl  the ledger of a host, in segments
```

The id is there because many hosts share a folder, and runs of two hosts that began in the same second have the same name.
"""

import os
import re
from datetime import datetime
from typing import NamedTuple, Self

from runcard.errors import UsageError
from runcard.files import printable
from runcard.store import layout

SCHEMES = ("s3", "gs", "az")
_LIKE_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_SEGMENT = re.compile(r"(?:(.*)/)?\.runcard/(ledger-[A-Za-z0-9._-]+)/([0-9]{8,})\.jsonl")
_UPLOAD = re.compile(r"(?:.*/)?\.runcard/uploads/([0-9a-f]{16})")
_PLACE = re.compile(r"(?:.*/)?[0-9]{4}-[0-9]{2}/[^/]+/[^/]+")  # of an object of an archive


def is_url(word: object) -> bool:
    """Whether a word is the URL of something in object storage, and not a path."""
    return isinstance(word, str) and word.partition("://")[0] in SCHEMES and "://" in word


def check_target(place: str | os.PathLike[str] | None) -> None:
    """Raise UsageError for a place to write archives to that looks like a URL, and is not that of a folder in object storage."""
    word = os.fspath(place) if place is not None else ""
    if not is_url(word):
        if _LIKE_URL.match(word):
            scheme = word.partition(":")[0]
            raise UsageError(
                f"{scheme}:/… is not the URL of a folder in object storage: it begins with {', '.join(f'{known}://' for known in SCHEMES)}",
                hint=f"write s3://BUCKET/FOLDER; or ./{scheme}:/… for a folder on this machine",
            )
    elif ObjectUrl.parse(word).is_archive:
        raise UsageError(
            f"{printable(word)} is the URL of an archive, and not of a folder",
            hint="write s3://BUCKET/FOLDER",
        )


def check_local(place: str | os.PathLike[str] | None) -> None:
    """Raise UsageError for a URL where only a folder on this machine can stand."""
    if place is not None and _LIKE_URL.match(os.fspath(place)):
        scheme = os.fspath(place).partition(":")[0]
        raise UsageError(
            f"{scheme}:// is a URL, and not a folder on this machine",
            hint=f"name a folder; one of that name is ./{scheme}:/…",
        )


class ObjectUrl(NamedTuple):
    """An object, or a folder of objects."""

    scheme: str
    bucket: str
    key: str  # without a slash at either end; empty for the whole bucket

    @classmethod
    def parse(cls, url: str) -> Self:
        """Raises UsageError for a URL that is not well-formed, or could have credentials in it: it is not repeated then."""
        scheme, _, rest = url.partition("://")
        bucket, _, key = rest.partition("/")
        if ":" in bucket or any(mark in rest for mark in "@?#"):
            message = f"the {scheme}:// URL must not have a user, a password or options in it"
            raise UsageError(message, hint="credentials come from the environment: see docs/remote.md")
        key = key.strip("/")
        parts = key.split("/") if key else []
        is_plain = key.isprintable() and all(part not in {"", ".", ".."} for part in parts)
        if scheme not in SCHEMES or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]+", bucket) or not is_plain:
            raise UsageError(
                f"{printable(url)} is not the URL of object storage", hint=f"write {scheme}://BUCKET/FOLDER"
            )
        return cls(scheme, bucket, key)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}" + (f"/{self.key}" if self.key else "")

    def below(self, path: str) -> Self:
        """An object in this folder."""
        return self._replace(key=f"{self.key}/{path}" if self.key else path)

    def archive(self, record_id: str, name: str, moment: datetime) -> Self:
        """The archive of a record in this folder."""
        month, _, file = layout.archive_file(name, moment).partition("/")
        return self.below(f"{month}/{layout.safe_name(record_id)}/{file}")

    @property
    def is_archive(self) -> bool:
        return layout.is_archive(self.key)

    @property
    def folder(self) -> Self:
        """The folder of archives that an archive is in."""
        return self._replace(key="/".join(self.key.split("/")[:-3]))


def checksums_copy(archive: str) -> str:
    """Where the listing of an archived record can be read without opening the archive."""
    return f"{archive.removesuffix(layout.PACKED)}.{layout.CHECKSUMS}"


def signature_copy(archive: str) -> str:
    """The same for the signature of its metadata document."""
    return f"{archive.removesuffix(layout.PACKED)}.{layout.SIGNATURE}"


def objects_of(archive: str) -> list[str]:
    """The objects of an archive, itself first."""
    beside = (layout.member_index, layout.metadata_copy, signature_copy, checksums_copy)
    return [archive, *(name(archive) for name in beside)]


def ledgers(folder: ObjectUrl) -> ObjectUrl:
    """The folder of the ledgers of a folder of archives."""
    return folder.below(os.path.basename(layout.own_folder("")))


def segment(folder: ObjectUrl, ledger: str, number: int) -> ObjectUrl:
    """A segment of a host's ledger."""
    return ledgers(folder).below(f"{ledger}/{number:08}.jsonl")


def segment_of(url: ObjectUrl) -> tuple[ObjectUrl, str, int] | None:
    """The ledger that an object is a segment of, by its folder of archives and its name, and its number; None for another object."""
    match = _SEGMENT.fullmatch(url.key)
    return None if match is None else (url._replace(key=match[1] or ""), match[2], int(match[3]))


def is_own(key: str) -> bool:
    """Whether an object is one of runcard's own beside the archives, such as a ledger."""
    return os.path.basename(layout.own_folder("")) in key.split("/")


def upload_aside(url: ObjectUrl) -> str | None:
    """The id of the upload that an object was put aside for, until it is copied to its place; None for another object."""
    match = _UPLOAD.fullmatch(url.key)
    return None if match is None else match[1]


def is_archive_place(key: str) -> bool:
    """Whether an object is where `archive` puts an archive."""
    return layout.is_archive(key) and _PLACE.fullmatch(key) is not None


def archive_beside(name: str) -> str | None:
    """The archive that an object belongs to; None for an object that does not look as if it belonged to one."""
    for end in sorted(
        (place.removeprefix("x") for place in objects_of(f"x{layout.PACKED}")[1:]), key=len, reverse=True
    ):
        if name.endswith(end) and _PLACE.fullmatch(name):
            return name.removesuffix(end) + layout.PACKED
    return None


def has_plain_name(url: ObjectUrl) -> bool:
    """Whether an object can be named by its URL."""
    try:
        return ObjectUrl.parse(str(url)) == url
    except UsageError:
        return False
