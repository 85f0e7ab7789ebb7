"""Ruby reads the same data in a plan as runcard."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import runcard
from documents.samples import CORPUS, decoded
from plans.projects import RubyProject

pytestmark = pytest.mark.needs("ruby")

# Ruby's own reader, as careful programs call it; what it refuses to build is told by the name of the error.
_READ = """
require "yaml"
require "json"
read = ARGV.map do |path|
  YAML.safe_load(File.read(path), permitted_classes: [Time])
rescue Psych::Exception => error
  error.class.name
end
puts JSON.generate(read)
"""


def read_by_ruby(*paths: Path) -> list[Any]:
    done = subprocess.run(
        ["ruby", "-e", _READ, *map(str, paths)], check=True, capture_output=True, timeout=60
    )
    read: list[Any] = json.loads(done.stdout)
    return read


WORDS = [
    "yes",
    "No",
    "on",
    "OFF",
    "true",
    "null",
    "~",
    "",
    "0777",
    "1_000",
    "1e3",
    ".5",
    "12:30",
    "2024-01-01",
    ":sym",
]


def test_what_is_written_is_read_by_ruby_as_it_was_meant(project: RubyProject) -> None:
    data = project.plan_of()
    del data["validation"]
    states = [word for word in WORDS if word.strip()]  # a blank state is an error
    data["characteristics"][0] |= {"states": states, "default": "null"}
    data["characteristics"][1] |= {"when_parent": states}
    runcard.open_plan(project.source).write("analyzer", data | {"automation": {"analyzer_completed": True}})
    runcard.open_plan(project.source).mark(
        "skeleton", warnings=WORDS, values={"skeleton_words": {w: w for w in WORDS}}
    )
    assert read_by_ruby(project.plan) == [project.read()]


def test_what_is_called_unquoted_is_no_text_to_ruby() -> None:
    paths = sorted((CORPUS / "invalid").glob("yaml.unquoted--*.yml"))
    for path, read in zip(paths, read_by_ruby(*paths), strict=True):
        if isinstance(read, str):
            assert read == "Psych::DisallowedClass", path.name  # a date or a symbol
            continue
        assert read["characteristics"] != decoded(path)["characteristics"] or not all(
            isinstance(state, str) for state in read["characteristics"][1]["states"]
        ), path.name
