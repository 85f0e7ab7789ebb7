"""List the methods of a Ruby file."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.files import json_name
from runcard.plans.project import project_of
from runcard.plans.ruby import Targets, read_targets
from runcard.plans.ruby.targets import check_ruby


@dataclass(frozen=True, slots=True)
class TargetList:
    """The methods of a file, and its path in the project."""

    file: str
    targets: Targets

    @property
    def warnings(self) -> list[str]:
        return [f"line {warning.line}: {warning.message}" for warning in self.targets.warnings]

    def to_dict(self) -> JsonObject:
        warnings = [{"line": warning.line, "message": warning.message} for warning in self.targets.warnings]
        return {
            "file": json_name(self.file).text,
            "classes": list(self.targets.classes),
            "targets": [target.to_dict() for target in self.targets.all()],
            "warnings": warnings,
        }


def list_targets(path: str, *, root: str | None = None) -> TargetList:
    """Read a file; raises RuncardError when it cannot be read, or is not in the given project."""
    project, file = project_of(path, root)
    source = os.path.join(project.root, file)
    targets = read_targets(source)
    check_ruby(source, not targets.warnings, targets)
    return TargetList(file, targets)


_NOT_ENTERED = {"node_modules", "vendor", "tmp", "log", "coverage"}


def ruby_files(paths: Iterable[str]) -> Iterator[str]:
    """The files themselves, and the Ruby files below each directory; hidden and installed ones are left out."""
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if name[0] != "." and name not in _NOT_ENTERED)
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".rb"))
