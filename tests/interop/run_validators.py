"""Check crates with roc-validator and citations with cffconvert, without a network: `python run_validators.py PATH...`.

It runs in an environment that has both, see scripts/install_tools.py. It prints a JSON object: the problems of each crate, of
the severity REQUIRED, and of each `.cff` file. The contexts of JSON-LD come from files beside this one.
"""

import io
import json
import logging
import sys
from pathlib import Path
from typing import Any

import rdflib.plugins.shared.jsonld.util as jsonld
import requests
from cffconvert import Citation
from rocrate_validator import models, services
from rocrate_validator.utils.http import HttpRequester

FOLDER = Path(__file__).parent / "contexts"
CONTEXTS = {
    "https://w3id.org/ro/crate/1.1/context": FOLDER / "ro-crate-1.1.json",
    "https://w3id.org/ro/terms/workflow-run/context": FOLDER / "workflow-run.json",
}


class OfflineRequester:
    """Answers for the contexts, and for nothing else."""

    def get(self, url: str, **_: Any) -> requests.Response:
        response = requests.Response()
        response.status_code = 200 if url in CONTEXTS else 404
        response.headers["Content-Type"] = "application/ld+json"
        response._content = CONTEXTS[url].read_bytes() if url in CONTEXTS else b""
        return response

    head = get


def load_context(source: Any, *_: Any, **__: Any) -> tuple[Any, None]:
    if isinstance(source, io.StringIO | io.BytesIO):
        return json.loads(source.read()), None
    for url, path in CONTEXTS.items():
        if str(source) == url:
            return json.loads(path.read_text()), None
    return _source_to_json(source, *_, **__)  # type: ignore[no-any-return]


_source_to_json = jsonld.source_to_json


def problems(path: str) -> list[str]:
    return citation_problems(path) if path.endswith(".cff") else crate_problems(path)


def citation_problems(path: str) -> list[str]:
    try:
        Citation(Path(path).read_text("utf-8")).validate()
    except Exception as error:  # noqa: BLE001 - of the validator
        return [str(error)]
    return []


def crate_problems(crate: str) -> list[str]:
    settings = services.ValidationSettings(
        rocrate_uri=Path(crate),
        profile_identifier="process-run-crate-0.5",
        requirement_severity=models.Severity.REQUIRED,
    )
    result = services.validate(settings)
    return [f"{issue.check.identifier}: {issue.message}" for issue in result.get_issues()]


def main() -> None:
    logging.disable(logging.CRITICAL)
    HttpRequester.__new__ = lambda *_, **__: OfflineRequester()
    import rdflib.plugins.parsers.jsonld as parser  # noqa: PLC0415
    from rdflib.plugins.shared.jsonld import context  # noqa: PLC0415

    for module in (jsonld, parser, context):
        if hasattr(module, "source_to_json"):
            module.source_to_json = load_context
    print(json.dumps({path: problems(path) for path in sys.argv[1:]}))  # noqa: T201


if __name__ == "__main__":
    main()
