"""The list of packages in CONTRIBUTING.md is the one that import-linter checks."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOT_DESCRIBED = {"__main__", "version"}


def test_contributing_lists_the_layers_in_order() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    in_contract = [name for layer in layers for name in layer.split(" | ") if name not in NOT_DESCRIBED]
    table = (
        (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("| layer | content |")[2].partition("\n\n")[0]
    )
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == in_contract
