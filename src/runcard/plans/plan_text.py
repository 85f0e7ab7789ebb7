"""A plan file as it lies on the disk: its bytes, and what they say as far as they can be read."""

import os
from dataclasses import dataclass
from functools import cached_property

from runcard.documents.testplan.plan import TestPlan
from runcard.encoding import JsonObject
from runcard.encoding.limits import DEFAULT, Limits
from runcard.errors import EncodingError, RuncardError
from runcard.files import read_file


@dataclass(frozen=True)
class Stored:
    """The bytes of a plan; None where there is no file."""

    path: str
    source: bytes | None
    limits: Limits = DEFAULT  # of reading it

    @property
    def exists(self) -> bool:
        return self.source is not None

    @cached_property
    def data(self) -> JsonObject | None:
        """What it says; None when that cannot be read as a map."""
        try:
            value = TestPlan.decode(self.source or b"", self.limits)
        except EncodingError:
            return None
        return value if isinstance(value, dict) else None

    def section(self, name: str) -> JsonObject:
        """A section; empty when it is absent or something else."""
        value = (self.data or {}).get(name)
        return value if isinstance(value, dict) else {}

    @property
    def file(self) -> str | None:
        """The source that the plan is about, as it says."""
        file = self.section("target").get("file")
        return file.removeprefix("./") if isinstance(file, str) else None

    def is_about(self, file: str, root: str) -> bool:
        """Whether it is the plan of this source of the project; an absolute path is wrong, but it tells."""
        return self.file is not None and os.path.normpath(os.path.join(root, self.file)) == os.path.join(
            root, file
        )


def read_stored(path: str, limits: Limits) -> Stored:
    """The plan file at a path, which need not exist."""
    try:
        return Stored(path, read_file(path, limits.size, only_regular=True), limits)
    except RuncardError as error:
        if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
            return Stored(path, None, limits)
        raise
