"""A signed session whose documents were migrated, away from the store that keeps the documents from before."""

import gzip
import json
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from attacks.edited import session as collected_session
from conftest import Cli

OLD = "the document from before its migration is not here: the migration cannot be checked"


def report(cli: Cli, *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    outcome = cli("verify", "--json", *arguments)
    return outcome.code, json.loads(outcome.out)


def state(found: dict[str, Any]) -> str:
    (record,) = found["records"]
    return str(record["signature"]["state"])


@pytest.fixture
def session(cli: Cli, here: Path, signers: Path) -> Path:
    """A session that was signed, migrated, and signed again."""
    path = collected_session(here)
    assert cli("sign", path, "--key", here / "alice").code == 0
    assert cli("migrate", path, "--to", "1.0.0").code == 2  # 1.0.0 has no room for all of it
    assert cli("sign", path, "--key", here / "alice").code == 0
    assert report(cli, "--signers", signers, path)[0] == 0
    return path


@pytest.fixture
def archive(cli: Cli, session: Path, here: Path) -> Path:
    assert cli("archive", session).code == 0
    (path,) = (here / "artifacts/archive").rglob("*.tar.gz")
    return Path(shutil.copy(path, here / "received.tar.gz"))


def test_an_archive_has_all_that_verification_needs(
    cli: Cli, here: Path, archive: Path, signers: Path
) -> None:
    kept = here / "artifacts/.runcard/originals"
    originals = {path.name for path in kept.iterdir()}
    shutil.rmtree(kept)
    code, found = report(cli, "--signers", signers, archive)
    assert (code, found["signed"], state(found)) == (0, True, "current")
    assert cli("restore", archive, "--to", here / "other").code == 0
    (back,) = (path for path in (here / "other").iterdir() if path.name != ".runcard")
    assert report(cli, "--signers", signers, back)[:1] == (0,)
    assert {path.name for path in (here / "other/.runcard/originals").iterdir()} == originals
    assert not (back / ".runcard").exists()
    assert cli("archive", back, "--to", here / "again").code == 0
    (again,) = (here / "again").rglob("*.tar.gz")
    assert again.read_bytes() == archive.read_bytes()
    (here / "unpacked").mkdir()
    subprocess.run(["tar", "xzf", archive], cwd=here / "unpacked", check=True)
    assert report(cli, "--signers", signers, here / "unpacked" / back.name)[0] == 0


def test_without_the_documents_from_before_it_is_incomplete_and_not_changed(
    cli: Cli, here: Path, session: Path, signers: Path
) -> None:
    copy = shutil.copytree(session, here / "elsewhere" / session.name)
    code, found = report(cli, "--signers", signers, copy)
    assert (code, found["intact"], found["complete"], found["signed"]) == (1, True, False, False)
    assert {
        (one["kind"], one["message"]) for one in found["findings"] if one["kind"] not in {"amended", "limits"}
    } == {("missing", OLD)}
    assert state(found) == "before-tampering"


def test_other_bytes_in_the_place_of_an_original_are_unexpected(
    cli: Cli, here: Path, archive: Path, signers: Path
) -> None:
    data = gzip.decompress(archive.read_bytes())
    old, new = b'"team_session_id"', b'"tEam_session_id"'
    assert data.count(old) > 1
    archive.write_bytes(gzip.compress(data.replace(old, new, 1), mtime=0))
    code, found = report(cli, "--signers", signers, archive)
    assert (code, found["signed"], state(found)) == (1, False, "before-tampering")
    assert {one["kind"] for one in found["findings"]} >= {"unexpected", "missing"}
    assert cli("restore", archive, "--to", here / "other").code == 1
    assert cli("restore", archive, "--force", "--to", here / "other").code in {0, 2}
    kept = list((here / "other/.runcard/originals").iterdir())
    assert [path.name for path in kept] == [sha256(path.read_bytes()).hexdigest() for path in kept]
    assert len(kept) == 2  # of three documents
