"""Choose the files of this machine that go into a bundle with a run.

The document of the run may come from someone else and name any path. A file is packed only if its bytes are known to belong
to the run: an input by its recorded digest; a program, which has no digest, if this user recorded the run here. A file
outside of the current directory is not even opened unless the user named it.

Invariant: a bundle never has a file whose bytes are not known to belong to the run.
"""

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from runcard.digests import sha256_descriptor
from runcard.documents.run.fields import RunFields
from runcard.documents.run.inputs import input_entries, input_path
from runcard.encoding import JsonObject
from runcard.files import check_relative, open_regular, printable
from runcard.store import layout
from runcard.store.archives.bundles.forbidden_names import is_tool_file
from runcard.store.archives.bundles.manifest import OUTSIDE
from runcard.store.archives.bundles.named_files import command_paths
from runcard.store.archives.bundles.pack import BundledFile
from runcard.store.ownership import is_own_run


class BundleOmission(NamedTuple):
    """A file that a run names and its bundle does not have."""

    path: str
    role: str
    reason: str

    def message(self) -> str:
        return f"the {self.role} {printable(self.path)} was left out: {self.reason}"


class BundleFiles:
    """The inputs and programs of a run, as far as they may be packed."""

    def __init__(self, run: str, document: JsonObject, metadata_sha256: str, named: Sequence[str]) -> None:
        self._run, self._document, self._sha256 = run, document, metadata_sha256
        self._here = os.path.realpath(os.curdir)
        self._named = [os.path.realpath(path) for path in named]
        self.omissions: list[BundleOmission] = []

    def bundled_files(self) -> list[BundledFile]:
        """The files to pack; the others are in `omissions`."""
        files: dict[str, BundledFile] = {}
        inputs = [(input_path(entry), entry.get("sha256")) for entry in input_entries(self._document)]
        for path, digest in inputs:
            self._add(files, path, "input", digest)
        for path in self._programs():
            if path not in dict(inputs):  # an input that changed is not packed as a program
                self._add(files, path, "program", None)
        return list(files.values())

    def _add(self, files: dict[str, BundledFile], path: str, role: str, expected: str | None) -> None:
        is_plain = check_relative(path) is None
        place = path if is_plain else f"{OUTSIDE}{os.path.abspath(path)}"
        reason = self._refusal(path, place, role, expected)
        if reason is None:
            digest, reason = _digest(path)
            if reason is None and digest is not None and expected in {None, digest}:
                files[path] = BundledFile(path, place, path, role, digest)
                return
        self.omissions.append(BundleOmission(path, role, reason or "it is not what the run read"))

    def _refusal(self, path: str, place: str, role: str, expected: str | None) -> str | None:
        """Why a file must not be opened; None if it may be."""
        if "\0" in path:
            return "its name holds a NUL byte"
        if is_tool_file(place):
            return "other programs obey a file of this name"
        real = os.path.realpath(path)
        is_named = any(_is_in(real, folder) for folder in self._named)
        if not is_named and not _is_in(real, self._here):
            return "it is outside of the current directory; pass --with to pack it"
        if role == "input" and expected is None:
            return "the run did not record its digest"
        if role == "program" and not is_named and not self._is_recorded_here:
            return "nothing shows that you recorded the run here; pass --with to pack it"
        return None

    def _programs(self) -> Iterator[str]:
        """Files below the current directory that the command names: it needs them to run on another machine."""
        store = layout.store_of(self._run)
        for path in command_paths(self._document):
            if os.path.isfile(path) and not _is_in(os.path.abspath(path), store):
                yield path

    @property
    def _is_recorded_here(self) -> bool:
        """Whether this user recorded the run on this machine, and its document is unchanged."""
        return is_own_run(self._run, str(RunFields(self._document).run_id), self._sha256)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


def _digest(path: str) -> tuple[str | None, str | None]:
    """The digest of a file, or the reason why it cannot be read."""
    try:
        descriptor = open_regular(path, follow=True)
    except FileNotFoundError:
        return None, "it is missing"
    except OSError as error:
        return None, error.strerror
    try:
        return sha256_descriptor(descriptor).hex, None
    except OSError as error:
        return None, error.strerror
    finally:
        os.close(descriptor)
