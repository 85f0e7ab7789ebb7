"""Skeletons for tests, and checks of them by Ruby."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runcard.plans.ruby.method_facts import CallSignature, MethodFacts
from runcard.plans.spec_contexts import contexts_of
from runcard.plans.spec_skeleton import Skeleton
from runcard.plans.spec_subject import SubjectFacts, subject_of

HERE = Path(__file__).parent
Fields = dict[str, Any]

TARGET = {
    "class": "PaymentService",
    "method": "process",
    "method_type": "instance",
    "file": "app/services/payment_service.rb",
}
CALL = CallSignature()


def characteristic(
    name: str, kind: str, states: Sequence[str], on: tuple[str, str] | None = None, **more: Any
) -> Fields:
    """A characteristic; `on` names its parent and the state of it."""
    parent, state = on or (None, None)
    plain = {"name": name, "type": kind, "states": list(states), "default": None, "level": 1}
    return plain | {"depends_on": parent, "when_parent": state} | more


def text(characteristics: list[Fields], call: CallSignature = CALL, **target: str) -> str:
    return spec_text(TARGET | target, characteristics, call)


def spec_text(
    target: Fields, characteristics: list[Fields], call: CallSignature = CALL, *, is_tagged: bool = False
) -> str:
    subject = subject_of(target, SubjectFacts(method=MethodFacts(call)))
    skeleton = Skeleton(target, contexts_of(characteristics), subject, is_tagged)
    return skeleton.file(["require 'rails_helper'"]).decode()


def complaints(texts: Sequence[str | bytes], folder: Path) -> list[str | None]:
    """What Ruby says about each text: None where it is good. One process reads them all."""
    files = []
    for number, written in enumerate(texts):
        files.append(folder / f"{number}_spec.rb")
        files[-1].write_bytes(written if isinstance(written, bytes) else written.encode())
    return [json.loads(line) for line in _ruby("syntax.rb", *files)]


def paths(written: str, folder: Path) -> list[list[str]]:
    """The names of the groups above each example, by running the spec in Ruby."""
    file = folder / "run_spec.rb"
    file.write_text(written, "utf-8")
    return [json.loads(line) for line in _ruby("recorder.rb", file)]


def _ruby(script: str, *files: Path) -> list[str]:
    command = ["ruby", "-EUTF-8:UTF-8", str(HERE / script), *map(str, files)]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout.decode().splitlines()
