"""The manifest of the documents in tests/corpus is up to date, and says what runcard finds."""

import json
from pathlib import Path

import make_corpus_manifest

from runcard.documents.findings import Severity
from runcard.documents.reader import parse_document

ROOT, MANIFEST = make_corpus_manifest.ROOT, make_corpus_manifest.MANIFEST
ALSO_ALLOWED = {"legacy": {"expected.absent"}}  # besides the rules that the manifest names


def test_it_is_what_the_script_writes() -> None:
    assert MANIFEST.read_text() == make_corpus_manifest.manifest(), "run scripts/make_corpus_manifest.py"


def test_runcard_finds_what_it_says() -> None:
    documents = json.loads(MANIFEST.read_text())["documents"]
    assert len(documents) >= 364
    wrong = []
    for document in documents:
        path = ROOT / Path(document["path"])
        report = parse_document(path.read_bytes(), is_yaml=path.suffix == ".yml").report
        found = {
            severity: {finding.rule for finding in report.findings if finding.severity is severity}
            for severity in (Severity.ERROR, Severity.WARNING)
        }
        also = ALSO_ALLOWED.get(document["path"].split("/")[2], set())
        expected = (document["valid"], set(document["errors"]), set(document["warnings"]))
        if (report.valid, found[Severity.ERROR], found[Severity.WARNING] - also) != expected:
            wrong.append((document["path"], found))
        if document["kind"] and (report.kind, report.version) != (document["kind"], document["version"]):
            wrong.append((document["path"], {}))
    assert wrong == []
