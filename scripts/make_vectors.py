"""Write the test vectors: `python scripts/make_vectors.py [FOLDER]`. The same bytes each time."""

import json
import shutil
import sys
from pathlib import Path

from vector_cases import Case
from vector_other_cases import other_cases
from vector_run_cases import run_cases
from vector_signature_cases import signature_cases
from vector_signatures import SIGNERS
from vector_timestamp_cases import timestamp_cases
from vector_timestamps import AUTHORITIES

HERE = Path(__file__).resolve().parent.parent
LICENCE = "CC0-1.0"


def all_cases() -> list[Case]:
    return [*run_cases(), *signature_cases(), *timestamp_cases(), *other_cases()]


def write_case(folder: Path, case: Case) -> None:
    """Write the record, without what Git cannot hold."""
    for path, data in case.files.items():
        file = folder / case.name / case.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


def write_vectors(folder: Path) -> int:
    """Write everything but the page and the licence; the number of records."""
    cases = all_cases()
    shutil.rmtree(folder / "records", ignore_errors=True)
    for case in cases:
        write_case(folder / "records", case)
    (folder / "signers").write_text(SIGNERS)
    (folder / "authorities.pem").write_text(AUTHORITIES)
    manifest = {"format": 2, "licence": LICENCE, "vectors": [case.entry() for case in cases]}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    return len(cases)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "vectors"
    print(f"{target}: {write_vectors(target)} records")
