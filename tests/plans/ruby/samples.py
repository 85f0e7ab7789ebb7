"""Ruby source files for tests."""

from pathlib import Path
from textwrap import dedent

from runcard.plans.ruby import Targets, read_targets


def written(folder: Path, text: str | bytes, name: str = "source.rb") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())
    return path


def targets(folder: Path, text: str | bytes) -> Targets:
    return read_targets(str(written(folder, text)))


def names(found: Targets) -> list[str]:
    """The methods as people write them: `Class#method` and `Class.method`, in the order of the text."""
    return [str(target) for target in found.all()]
