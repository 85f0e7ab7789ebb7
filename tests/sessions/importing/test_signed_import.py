"""With `sign = "always"`, an imported session is signed."""

from pathlib import Path

import pytest

from conftest import Cli
from runcard.operations.signatures.keygen import keygen
from sessions.importing.sample_sessions import session_with_sub_agent


def test_an_imported_session_is_signed(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signers = tmp_path / "signers"
    signers.write_text(keygen(tmp_path / "key", name="alice").signers_line + "\n")
    monkeypatch.setenv("RUNCARD_SIGN", "always")
    monkeypatch.setenv("RUNCARD_SIGNING_KEY", str(tmp_path / "key"))
    session_with_sub_agent(tmp_path / "home")
    outcome = cli("import", "claude-code", tmp_path / "home")
    assert outcome.code == 0, outcome.err
    assert cli("verify", "--signers", signers, "artifacts").code == 0
