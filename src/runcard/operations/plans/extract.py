"""The structure of a spec file."""

import os
from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.files import json_name
from runcard.plans.project import project_of
from runcard.plans.ruby.spec_reader import SpecFile, read_spec


@dataclass(frozen=True, slots=True)
class SpecStructure:
    """What a spec consists of, and its path in the project."""

    file: str
    spec: SpecFile

    @property
    def warnings(self) -> list[str]:
        said = [f"line {trouble.line}: {trouble.message}" for trouble in self.spec.warnings]
        return said if self.spec.parts else [*said, "no describe, no context and no example"]

    def to_dict(self) -> JsonObject:
        warnings = [{"line": trouble.line, "message": trouble.message} for trouble in self.spec.warnings]
        return {
            "file": json_name(self.file).text,
            "counts": self.spec.counts(),
            "structure": [part.to_dict() for part in self.spec.parts],
            "warnings": warnings,
        }


def extract(path: str, *, root: str | None = None) -> SpecStructure:
    """Read a spec; raises RuncardError when it cannot be read, or does not lie in the project that was named."""
    project, file = project_of(path, root)
    return SpecStructure(file, read_spec(os.path.join(project.root, file)))
