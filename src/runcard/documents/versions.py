"""The version of a document, and whether this runcard can read it.

A newer major version is refused. A newer minor version of a known major is read with a warning, by the newest schema of
that major. A version that was never published is an error, and the rest of the document is still checked. For test plans,
which agents follow without checking, every version above the newest one is refused.
"""

import re
from typing import NamedTuple

from runcard.documents.findings import Finding, display_value, finding
from runcard.documents.kinds import DocumentKind
from runcard.encoding import JsonObject

_VERSION = re.compile(r"(\d{1,99})(?:\.(\d{1,99}))?(?:\.(\d{1,99}))?", re.ASCII)


class VersionCheck(NamedTuple):
    """The result of checking a document's version."""

    stated: str | None
    used: str | None  # the published version by which it is read; None: refused
    findings: tuple[Finding, ...] = ()
    key: str = ""  # of the document, that states the version


def check_version(kind: DocumentKind, data: JsonObject) -> VersionCheck:
    """The version of a document, and the one by which it is read."""
    key = kind.key_of_version(data)
    stated = data.get(key, kind.unversioned)
    if not isinstance(stated, str):
        return VersionCheck(None, kind.latest, (), key)
    if stated in kind.versions:
        return VersionCheck(stated, stated, (), key)
    parts = _parts(stated)
    if parts is None:
        return VersionCheck(stated, kind.latest, (), key)
    newest = max(kind.versions, key=_key)
    if parts[0] > _key(newest)[0] or (parts > _key(newest) and not kind.reads_newer):
        return VersionCheck(stated, None, (_newer_major(kind, stated, key),), key)
    older = [known for known in kind.versions if _key(known)[0] == parts[0] and _key(known) < parts]
    if older:
        return VersionCheck(stated, older[-1], (_newer_minor(kind, stated, older[-1], key),), key)
    return VersionCheck(stated, kind.versions[0], (_unknown(kind, stated, key),), key)


def _parts(stated: str) -> tuple[int, ...] | None:
    match = _VERSION.fullmatch(stated)
    return tuple(int(part or 0) for part in match.groups()) if match else None


def _key(version: str) -> tuple[int, ...]:
    return _parts(version) or (0, 0, 0)


def _published_versions(kind: DocumentKind) -> str:
    return ", ".join(kind.versions)


def _newer_major(kind: DocumentKind, stated: str, key: str) -> Finding:
    return finding(
        "version.newer-major",
        f"/{key}",
        f"{kind.name} version {stated} is newer than this runcard, which supports {_published_versions(kind)}",
        hint="install a newer runcard",
        expected=list(kind.versions),
        found=stated,
    )


def _newer_minor(kind: DocumentKind, stated: str, used: str, key: str) -> Finding:
    return finding(
        "version.newer-minor",
        f"/{key}",
        f"{kind.name} version {stated} is newer than {used}; it was read as {used}",
        hint="install a newer runcard to rewrite it or to check all of its fields",
        expected=list(kind.versions),
        found=stated,
    )


def _unknown(kind: DocumentKind, stated: str, key: str) -> Finding:
    return finding(
        "version.unknown",
        f"/{key}",
        f"{display_value(stated)} is not a version of {kind.name} documents",
        hint=f"published versions: {_published_versions(kind)}",
        expected=list(kind.versions),
        found=stated,
    )
