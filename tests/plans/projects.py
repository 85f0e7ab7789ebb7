"""Ruby projects for tests: sources and matching plans."""

import os
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

from documents import samples
from runcard.encoding.yaml import decode_yaml, encode_yaml

Fields = dict[str, Any]

FOLDER = "tmp/rspec_claude_metadata"
SOURCE = "app/models/billing/invoice.rb"
RUBY = b"""\
module Billing
  class Invoice
    def total
      customer.premium? ? 1 : 2
    end

    def self.latest
    end
  end
end
"""


class RubyProject:
    """A project with one source, and a plan for it when that is asked for."""

    def __init__(self, root: Path, *, mark: str = "Gemfile") -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        if mark:
            (root / mark).touch()
        self.source = self.add(SOURCE)

    def add(self, file: str, text: bytes = RUBY) -> Path:
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
        return path

    @property
    def folder(self) -> Path:
        return self.root / FOLDER

    @property
    def plan(self) -> Path:
        return self.folder / "metadata_app_models_billing_invoice.yml"

    def plan_of(self, file: str = SOURCE, **changes: Any) -> Fields:
        """The data of a plan that is valid, validated and fresh."""
        plan = samples.plan()
        plan["target"] |= {"file": file}
        status = os.stat(self.root / file)
        plan["analyzer"] |= {"source_file_mtime": int(status.st_mtime)}
        return plan | changes

    def write(self, data: Fields | bytes | None = None, name: str | None = None) -> Path:
        path = self.folder / name if name else self.plan
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else encode_yaml(data or self.plan_of()))
        return path

    def read(self, path: Path | None = None) -> Fields:
        data: Fields = decode_yaml((path or self.plan).read_bytes())
        return data


def noted(plan: Fields, source: Path) -> Fields:
    """The plan with size and digest of its source, as a careful analyzer notes them."""
    text = source.read_bytes()
    extra = {"source_sha256": sha256(text).hexdigest(), "source_size": len(text)}
    return plan | {"analyzer": plan["analyzer"] | extra}


def git(*arguments: str | Path, cwd: Path) -> None:
    assert shutil.which("git")
    subprocess.run(["git", *map(str, arguments)], cwd=cwd, check=True, capture_output=True)
