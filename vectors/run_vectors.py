"""Check a verifier with the vectors: `python run_vectors.py [--kind KIND] [COMMAND …]`.

Each record is copied to an empty folder, what Git cannot hold is created there, and the verdict is compared with the manifest.
Without a command, this is `runcard verify`. A COMMAND of your own is called with the path of a record at its end, and prints a
JSON object with `intact`, `complete`, `signed` and `timestamped`. If it also has `findings`, a list of kinds, these are compared
too, except for `signer` and `authority`, which need files of whom you trust, and `limits`, which depends on the verifier.
"""

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
VERDICTS = ("intact", "complete", "signed", "timestamped")
TRUST = {"signer", "authority"}  # findings that need the files of signers and of authorities

Fields = dict[str, Any]
Verify = Callable[[Fields, Path], Fields]


def vectors(kind: str | None = None) -> list[Fields]:
    """The entries of the manifest, of one kind or all."""
    manifest = json.loads((HERE / "manifest.json").read_text(encoding="utf-8"))
    return [vector for vector in manifest["vectors"] if kind in (None, vector["kind"])]


def copy_of(vector: Fields, folder: Path) -> Path:
    """The record of a vector, complete, in a folder."""
    name, _, rest = vector["path"].partition("/")
    shutil.copytree(HERE / "records" / name, folder / name)
    record: Path = folder / name / rest
    for part in vector.get("make", ()):
        if "link" in part:
            (record / part["link"]).symlink_to(part["target"])
        else:
            (record / part["file"]).write_text(part["content"], encoding="utf-8", newline="")
    return record


def expected(vector: Fields, *, with_trust: bool) -> Fields:
    """What a verifier must find; about trust only if it knows the files of signers and authorities."""
    kinds = [kind for kind in vector["findings"] if with_trust or kind not in TRUST]
    found: Fields = {name: vector[name] for name in VERDICTS} | {"findings": kinds}
    if not with_trust:
        found["signed"] = vector.get("signed_without_signers", vector["signed"])
    return found | {"exit_code": vector["exit_code"]} if with_trust else found


def verify_options(vector: Fields) -> list[str]:
    """The options of `runcard verify` for a vector."""
    options = ["--json"]
    if "signers" in vector:
        options += ["--signers", str(HERE / vector["signers"])]
    if vector.get("require"):
        options += ["--require", ",".join(vector["require"])]
    if "authorities" in vector:
        options += ["--tsa-certs", str(HERE / vector["authorities"])]
    return [*options, "--require-timestamp"] if vector.get("require_timestamp") else options


def verdict(report: Fields, exit_code: int) -> Fields:
    """The verdict in a report of `runcard verify`."""
    kinds = sorted({finding["kind"] for finding in report["findings"]} - {"limits"})
    return {name: report[name] for name in VERDICTS} | {"findings": kinds, "exit_code": exit_code}


def by_runcard(vector: Fields, record: Path) -> Fields:
    """The verdict of `runcard verify`."""
    command = [sys.executable, "-m", "runcard", "verify", *verify_options(vector), str(record)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    report = json.loads(done.stdout)
    if "findings" not in report:  # such as without the package that checks time-stamps
        raise SystemExit(f"Error: {report['error']}\n  hint: {report['hint']}")
    return verdict(report, done.returncode)


def by_command(command: list[str]) -> Verify:
    """The verdict of another program, with the findings that it has."""

    def verify(_: Fields, record: Path) -> Fields:
        done = subprocess.run([*command, str(record)], check=False, capture_output=True, text=True)
        try:
            report = json.loads(done.stdout)
            found = {name: report[name] for name in VERDICTS}
            if "findings" in report:
                found["findings"] = sorted(set(report["findings"]) - {"limits", *TRUST})
        except (ValueError, KeyError, TypeError):
            return {"failed": (done.stderr or done.stdout)[-500:]}
        return found

    return verify


def differences(verify: Verify, kind: str | None = None) -> Iterator[str]:
    """A line for each vector with another verdict."""
    for vector in vectors(kind):
        with tempfile.TemporaryDirectory() as folder:
            found = verify(vector, copy_of(vector, Path(folder)))
        wanted = expected(vector, with_trust="exit_code" in found)
        if "findings" not in found and "failed" not in found:
            del wanted["findings"]
        if found != wanted:
            yield f"{vector['name']} ({vector['done']}): expected {wanted}, found {found}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Check a verifier with the vectors.")
    parser.add_argument("--kind", help="only records of this kind: run, session, archive or store")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="your verifier; default: runcard verify")
    options = parser.parse_args()
    verify = by_command(options.command) if options.command else by_runcard
    failed = list(differences(verify, options.kind))
    for text in failed:
        print(text)
    total, name = len(vectors(options.kind)), shlex.join(options.command) or "runcard verify"
    print(f"{name}: {total - len(failed)} of {total} verdicts are as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
