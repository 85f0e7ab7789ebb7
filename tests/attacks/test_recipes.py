"""The published checks that need no runcard accept nothing that `runcard verify` refuses."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import run_vectors
from vector_run_cases import GOOD
from vector_signatures import ALICE, Signing, compact, envelope, line, statement

from conftest import Cli

ROOT = Path(run_vectors.__file__).parents[1]
SCRIPT = ROOT / "examples" / "verify-run" / "check_signature.sh"
JOURNAL_CHECKS = {
    "python": [sys.executable, str(ROOT / "examples" / "check_journal.py")],
    "node": ["node", str(ROOT / "examples" / "check_journal.mjs")],
}
SIGNATURE = "metadata.json.sig"

needs_ssh = pytest.mark.needs("openssh-client")


def run_of(vector: str, folder: Path, name: str = "run") -> Path:
    """A copy of the run of a vector."""
    (record,) = (ROOT / "vectors" / "records" / vector).iterdir()
    return Path(shutil.copytree(record, folder / name))


def check(
    record: str | Path, *signers: str | Path, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    command = ["sh", str(SCRIPT), str(record), *map(str, signers)]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, cwd=cwd)


def signers_with(folder: Path, text: str) -> Path:
    file = folder / "signers"
    file.write_text(text)
    return file


def line_of(name: str) -> str:
    """The line of a person in the signers of the vectors."""
    text = (ROOT / "vectors" / "signers").read_text()
    return next(line for line in text.splitlines() if line.startswith(name))


@needs_ssh
@pytest.mark.parametrize("vector", ["untrusted-two-lines", "untrusted-stranger"])
def test_a_key_must_be_in_the_file_of_signers_as_a_whole(cli: Cli, tmp_path: Path, vector: str) -> None:
    """With two lines as patterns, `grep -F` finds the type of any key."""
    record, signers = run_of(vector, tmp_path), signers_with(tmp_path, line_of("alice") + "\n")
    assert check(record, signers).returncode == 1
    assert cli("verify", "--signers", signers, record).code == 1
    assert check(run_of("signed", tmp_path, "good"), signers).returncode == 0


@needs_ssh
@pytest.mark.parametrize(
    "edit",
    [
        lambda line: f"# {line}",
        lambda line: line.replace("alice@example.org,author", "#alice@example.org"),
        lambda line: line + "x",
        lambda line: line + "AAAA",  # a longer key
        lambda line: line[:-2],
        lambda line: f"bob@example.org ssh-ed25519 AAAA {line.partition(' ')[2]}",  # as a comment
        lambda line: line.replace('namespaces="runcard"', 'namespaces="runcard",valid-before="20200101Z"'),
        lambda line: line.replace('namespaces="runcard"', 'namespaces="git",valid-after="20200101Z"'),
        lambda line: line.replace('namespaces="runcard"', "cert-authority"),
        lambda line: line.partition(" ")[2],  # no name
    ],
)
def test_lines_that_do_not_allow_the_key(cli: Cli, tmp_path: Path, edit: Callable[[str], str]) -> None:
    record, signers = run_of("signed", tmp_path), signers_with(tmp_path, edit(line_of("alice")) + "\n")
    assert check(record, signers).returncode == 1
    assert cli("verify", "--signers", signers, record).code != 0


@needs_ssh
@pytest.mark.parametrize(
    "edit",
    [
        lambda data: data.replace(b'"sig"', b'\0"sig"'),
        lambda data: data + b"\n",
        lambda data: b"\n" + data,
        lambda data: data.replace(b'"}]}', b'==="}]}'),
        lambda data: data.replace(b'==","signatures', b'","signatures').replace(b'="}]}', b'"}]}'),
        lambda data: data.replace(b'{"payloadType"', b'{"payload":"e30=","payloadType"'),
        lambda data: data + data[:40],
    ],
)
def test_envelopes_that_are_only_almost_right(
    cli: Cli, tmp_path: Path, edit: Callable[[bytes], bytes]
) -> None:
    record = run_of("signed", tmp_path)
    data = (record / SIGNATURE).read_bytes()
    (record / SIGNATURE).write_bytes(edit(data))
    assert edit(data) != data
    assert check(record).returncode == 1
    assert cli("verify", record).code == 1


@needs_ssh
@pytest.mark.parametrize(
    "more", [b"\n", b'\n{"signer":{"public_key":"ssh-ed25519 AAAA"}}', b"\n\n ", b"\0", b"\r"]
)
def test_more_behind_a_statement(cli: Cli, tmp_path: Path, more: bytes) -> None:
    """What was signed is one line of JSON, perhaps with its line feed; a program that reads lines may take another one."""
    record = run_of("good", tmp_path)
    payload = compact(statement(GOOD, ALICE)) + more
    (record / SIGNATURE).write_bytes(line(envelope(payload, Signing())))
    code = check(record).returncode
    assert (code == 0) == (more == b"\n")
    assert code == 1 or cli("verify", record).code == 0


@needs_ssh
@pytest.mark.parametrize(
    "name", ["-", "--status", "a\nb", "[a-z]*", '\' "$(touch x)"', "a\\nb", ".hidden", "é"]
)
def test_files_that_were_added_under_any_name(tmp_path: Path, name: str) -> None:
    record = run_of("signed", tmp_path)
    (record / name).write_text("forged\n")
    done = check(record)
    assert (done.returncode, "good" in done.stdout) == (1, False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


@needs_ssh
def test_links_and_special_files_are_not_followed(tmp_path: Path) -> None:
    for name in ("metadata.json", "SHA256SUMS", SIGNATURE, "notes.txt"):
        record = run_of("signed", tmp_path, f"link-{name}")
        (record / name).rename(tmp_path / name)
        (record / name).symlink_to(tmp_path / name)
        assert check(record).returncode == 1
        (record / name).unlink()
        os.mkfifo(record / name)
        assert check(record).returncode == 1


@needs_ssh
@pytest.mark.parametrize("name", ["-run", "--help", "run\nof two lines", "a b'c\"$(touch x)*"])
def test_folders_with_names_that_a_shell_could_take_for_something_else(tmp_path: Path, name: str) -> None:
    run_of("signed", tmp_path, name)
    signers = signers_with(tmp_path, line_of("alice") + "\n")
    done = check(name, signers.name, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "signers"])


Edit = Callable[[Path], object]


def with_link(record: Path) -> None:
    (record / "experiment.jsonl").rename(record.parent / "elsewhere")
    (record / "experiment.jsonl").symlink_to(record.parent / "elsewhere")


def changed_journal(old: bytes, new: bytes) -> Edit:
    def change(record: Path) -> None:
        path = record / "experiment.jsonl"
        data = path.read_bytes()
        assert old in data
        path.write_bytes(data.replace(old, new, 1))

    return change


@pytest.mark.parametrize("program", ["python", pytest.param("node", marks=pytest.mark.needs("npm"))])
@pytest.mark.parametrize(
    "edit",
    [
        with_link,
        changed_journal(b'{"seq":2,', b'{"seq":9,"seq":2,'),
        changed_journal(b'"seq":2,', b'"seq":2.0,'),
        changed_journal(b'"elapsed":1,', b'"elapsed":1e999,'),
        changed_journal(b'"elapsed":1,', b'"elapsed":' + b"9" * 5000 + b","),
        changed_journal(b'"elapsed":1,', b'"elapsed":' + b"[" * 5000 + b"]" * 5000 + b","),
        changed_journal(b'"elapsed":1,', b'"elapsed":NaN,'),
        changed_journal(b"\n", b"\0\n"),
        changed_journal(b"\n", b"\n\n"),
        changed_journal(b'"seq":1,', b'"seq":true,'),
        lambda record: (record / "experiment.jsonl").write_bytes(
            (record / "experiment.jsonl").read_bytes()[:-1]
        ),
        lambda record: (record / "metadata.json").write_text("[]"),
        lambda record: (record / "experiment.jsonl").unlink(),
    ],
)
def test_journals_that_lax_programs_accept(cli: Cli, tmp_path: Path, program: str, edit: Edit) -> None:
    record = run_of("good", tmp_path)
    edit(record)
    done = subprocess.run(
        [*JOURNAL_CHECKS[program], str(record)], check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (1, ""), done.stdout
    assert "Traceback" not in done.stderr
    assert cli("verify", record).code == 1


@pytest.mark.parametrize("program", ["python", pytest.param("node", marks=pytest.mark.needs("npm"))])
@pytest.mark.parametrize(
    "vector", ["good-large-integers", "good-unusual-text", "good-two-writers", "amended-withheld-event"]
)
def test_good_journals_are_not_called_forged(tmp_path: Path, program: str, vector: str) -> None:
    record = run_of(vector, tmp_path)
    done = subprocess.run(
        [*JOURNAL_CHECKS[program], str(record)], check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.needs("npm")
def test_a_key_of_the_journal_is_not_taken_for_a_prototype(cli: Cli, tmp_path: Path) -> None:
    """In JavaScript, assigning to `__proto__` hides what was assigned."""
    record = run_of("good", tmp_path)
    lines = [json.loads(line) for line in (record / "experiment.jsonl").read_text().splitlines()]
    lines[0]["payload"]["configuration"]["__proto__"] = {"seed": 1}
    (record / "experiment.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    program = ROOT / "examples" / "verify-run" / "verify_run.mjs"
    done = subprocess.run(
        ["node", str(program), str(record)], check=False, capture_output=True, text=True, timeout=60
    )
    found = {
        detail["message"] for detail in json.loads(done.stdout)["details"] if detail["kind"] == "document"
    }
    assert found == {"/configuration: the journal differs"}
    assert cli("verify", record).code == 1
