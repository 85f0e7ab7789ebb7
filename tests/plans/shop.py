"""The project in `written_before`, whose plans an earlier version wrote; with them or without."""

import os
import shutil
from pathlib import Path
from typing import Any

from runcard.documents.testplan.plan import TestPlan
from runcard.encoding.yaml import decode_yaml

Fields = dict[str, Any]

BEFORE = Path(__file__).parent / "written_before"
CHECKOUT, USER = "app/services/checkout.rb", "app/models/user.rb"
SPEC = "spec/services/checkout_spec.rb"
PAY = ("--method", "pay")
MODIFIED = 1_794_047_445  # when the sources were modified


class Shop:
    """A project with a method whose conditions depend on two states of their parent, four levels deep."""

    def __init__(self, root: Path, *, is_new: bool = True) -> None:
        ignored = shutil.ignore_patterns("tmp", "*_spec.rb") if is_new else None
        shutil.copytree(BEFORE, root, ignore=ignored)
        self.root, self.source, self.spec = root, root / CHECKOUT, root / SPEC
        for source in (CHECKOUT, USER):
            os.utime(root / source, (MODIFIED, MODIFIED))

    def change(self, old: str, new: str) -> None:
        """Change the source, but not the time when it was modified."""
        self.source.write_text(self.source.read_text().replace(old, new))
        os.utime(self.source, (MODIFIED, MODIFIED))

    @property
    def user_plan(self) -> Path:
        return self.plan.with_name("metadata_app_models_user.yml")

    @property
    def plan(self) -> Path:
        return self.root / "tmp/rspec_claude_metadata/metadata_app_services_checkout.yml"

    def read(self) -> Fields:
        data: Fields = decode_yaml(self.plan.read_bytes())
        return data

    def write(self, data: Fields) -> None:
        self.plan.parent.mkdir(parents=True, exist_ok=True)
        self.plan.write_bytes(TestPlan.encode(data))
