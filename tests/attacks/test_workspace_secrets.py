"""Secrets in a workspace, where an agent or a tool put them: none of them gets into a session by default."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pytest

from attacks.command_server import runcard

PEM_BODY = "\n".join(["MIIEpAIBAAKCAQEAqKpRgnn6yq2k8Zt0vW3nXyBq7Lr1DfHs5Jm9TcGuEwPxVbRa"] * 20)
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{PEM_BODY}\n-----END RSA PRIVATE KEY-----\n"
BODY = "q7Zk2Wm9Xt4Lr8Vb3Nc6Hs1Jd5Fg0Pa2Ye7Qi9Bo4Tu"
KEYS = {
    "anthropic-key": f"sk-ant-api03-{BODY}{BODY}",
    "openai-key": f"sk-proj-{BODY}",
    "github-token": f"ghp_{BODY[:36]}",
    "aws-access-key": "AKIAQ7ZK2WM9XT4LR8VB",
    "slack-token": f"xoxb-123456789012-{BODY[:24]}",
    "huggingface-token": f"hf_{BODY[:34]}",
    "stripe-key": f"sk_live_{BODY[:24]}",
    "gitlab-token": f"glpat-{BODY[:20]}",
    "google-api-key": f"AIza{BODY[:35]}",
}
LEAKS = {"a.md": f"key {KEYS['github-token']}\n", "b.txt": PEM}
SPEC = {
    "team_session_id": "leaky",
    "instances": [
        {
            "name": "a",
            "instance_id": "a-1",
            "status": "completed",
            "created_at": "2025-11-06T14:00:00Z",
            "terminated_at": "2025-11-06T14:10:00Z",
            "workspace": "ws",
        }
    ],
}


class Collected(NamedTuple):
    """A session, and what the command said about it."""

    code: int
    stderr: str
    session: Path

    @property
    def audit(self) -> dict[str, Any]:
        audit: dict[str, Any] = json.loads((self.session / "metadata.json").read_bytes())["audit"]
        return audit

    @property
    def omissions(self) -> dict[str, str]:
        return {entry["path"]: entry["reason"] for entry in self.audit["omissions"]}

    def stored(self, path: str) -> Path:
        return self.session / "instances/a-1/workspace" / path

    @property
    def everything(self) -> bytes:
        """All bytes of the session, without the NULs of UTF-16."""
        files = (path for path in self.session.rglob("*") if path.is_file())
        return b"".join(path.read_bytes() for path in files).replace(b"\0", b"")


def collect(folder: Path, files: Mapping[str, str | bytes], *options: str) -> Collected:
    """Collect a workspace with these files, as somebody would on the command line."""
    for name, data in files.items():
        path = folder / "ws" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    (folder / "spec.json").write_text(json.dumps(SPEC))
    ended = runcard(folder, "collect", "spec.json", *options)
    return Collected(ended.returncode, ended.stderr, Path(ended.stdout.strip()))


class TestInOrdinaryFiles:
    def test_every_vendors_key_keeps_its_file_out_and_is_shown_nowhere(self, tmp_path: Path) -> None:
        files = {f"notes/{rule}.md": f"# Notes\n\nuse {key} for this\n" for rule, key in KEYS.items()}
        collected = collect(tmp_path, files | {"kept.md": "nothing to hide\n"})
        assert collected.omissions == {
            f"notes/{rule}.md": f"contains a secret ({rule})" for rule in sorted(KEYS)
        }
        assert collected.code == 2
        assert collected.stored("kept.md").is_file()
        for key in KEYS.values():
            assert key.encode() not in collected.everything
            assert key not in collected.stderr
        assert "notes/github-token.md was not stored: contains a secret (github-token)" in collected.stderr

    def test_a_private_key_under_a_harmless_name_stays_out(self, tmp_path: Path) -> None:
        encoded = json.dumps({"type": "service_account", "private_key": PEM})
        collected = collect(tmp_path, {"deploy.txt": f"key:\n{PEM}", "robot.json": encoded})
        reason = "contains a secret (private-key)"
        assert collected.omissions == {"deploy.txt": reason, "robot.json": reason}
        assert PEM_BODY[:64].encode() not in collected.everything

    @pytest.mark.parametrize("cut", [1, 20, 40])
    @pytest.mark.parametrize("secret", [KEYS["anthropic-key"], PEM])
    def test_a_secret_across_the_border_of_two_blocks_is_found(
        self, tmp_path: Path, secret: str, cut: int
    ) -> None:
        filler = "some line of a log\n" * 20_000
        text = filler[: 256 * 1024 - cut - 1] + "\n" + secret + "\n" + filler
        collected = collect(tmp_path, {"large.log": text})
        assert list(collected.omissions) == ["large.log"]

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
    def test_other_encodings_are_searched(self, tmp_path: Path, encoding: str) -> None:
        text = f"$env:GITHUB_TOKEN = '{KEYS['github-token']}'\n"
        large = ("Schlüssel\n" * 20_000) + text
        files = {"small.ps1": text.encode(encoding), "large.ps1": large.encode(encoding)}
        collected = collect(tmp_path, files)
        assert set(collected.omissions) == set(files)

    @pytest.mark.long
    def test_many_files_are_searched_by_helper_processes_as_well(self, tmp_path: Path) -> None:
        files = {f"{number // 100}/{number}.txt": f"{number}\n" * 50 for number in range(4000)}
        leaks = {f"{number // 100}/{number}.txt" for number in range(7, 4000, 100)}
        for path in leaks:
            files[path] += f"token {KEYS['github-token']}\n"
        collected = collect(tmp_path, files)
        assert set(collected.omissions) == leaks
        assert KEYS["github-token"].encode() not in collected.everything

    def test_examples_and_code_about_keys_are_kept(self, tmp_path: Path) -> None:
        files: dict[str, str | bytes] = {
            "aws.md": "aws_access_key_id = AKIAIOSFODNN7EXAMPLE\n",
            ".gitignore": "*.pem\n",
            "setup.md": "export GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\nOPENAI_API_KEY=sk-...\n",
            "check.py": "if text.startswith('-----BEGIN PRIVATE KEY-----'):\n    raise ValueError\n",
            "package-lock.json": '{"integrity": "sha512-' + BODY * 2 + '=="}\n',
            "cert.txt": PEM.replace("RSA PRIVATE KEY", "CERTIFICATE"),
            "picture.bin": b"\x89PNG\0" + os.urandom(1000).replace(b"-", b"_"),
        }
        collected = collect(tmp_path, files)
        assert (collected.code, collected.omissions) == (0, {})


class TestOptions:
    def test_masking_keeps_the_files_without_their_secrets(self, tmp_path: Path) -> None:
        collected = collect(tmp_path, LEAKS, "--mask-workspaces")
        assert (collected.code, collected.omissions) == (0, {})
        assert collected.stored("a.md").read_text() == "key [masked:github-token]\n"
        assert collected.stored("b.txt").read_text() == "[masked:private-key]\n"
        rules = {(entry["rule"], entry["count"]) for entry in collected.audit["redactions"]}
        assert rules == {("github-token", 1), ("private-key", 1)}

    def test_masking_masks_the_same_set(self, tmp_path: Path) -> None:
        files = {f"{rule}.md": f"use {key} here\n" for rule, key in KEYS.items()}
        collected = collect(tmp_path, files, "--mask-workspaces")
        assert collected.omissions == {}
        for rule in KEYS:
            assert collected.stored(f"{rule}.md").read_text() == f"use [masked:{rule}] here\n"

    def test_what_masking_cannot_read_is_left_out(self, tmp_path: Path) -> None:
        """UTF-16 is not masked, so a secret in it keeps the file out."""
        files = {"a.ps1": f"key {KEYS['github-token']}".encode("utf-16"), "b.ps1": "hello".encode("utf-16")}
        collected = collect(tmp_path, files, "--mask-workspaces")
        assert collected.omissions == {"a.ps1": "contains a secret (github-token)"}
        assert collected.stored("b.ps1").is_file()

    def test_secrets_are_kept_on_request_and_the_document_says_so(self, tmp_path: Path) -> None:
        collected = collect(tmp_path, LEAKS, "--keep-secrets")
        assert (collected.code, collected.omissions) == (0, {})
        assert collected.stored("b.txt").read_text() == PEM
        assert collected.audit["options"]["keep_secrets"] is True

    def test_a_pattern_that_names_the_file_itself_brings_it_back(self, tmp_path: Path) -> None:
        files = LEAKS | {".env": f"GITHUB_TOKEN={KEYS['github-token']}\n"}
        collected = collect(tmp_path, files, "--exclude", "!a.md", "--exclude", "!.env")
        assert list(collected.omissions) == ["b.txt"]
        assert collected.stored("a.md").is_file()
        assert collected.stored(".env").is_file()

    @pytest.mark.parametrize("pattern", ["!*.md", "!*", "!**/a.md", "!a.m?"])
    def test_a_wildcard_brings_nothing_back(self, tmp_path: Path, pattern: str) -> None:
        collected = collect(tmp_path, LEAKS, "--exclude", pattern)
        assert set(collected.omissions) == set(LEAKS)


class TestInConfigurations:
    """Passwords without a known form, in files that a workspace needs: stored without them."""

    FILES: ClassVar[dict[str, str | bytes]] = {
        "config/database.yml": "production:\n  host: db\n  password: zebra-crossing\n",
        "docker-compose.yml": "services:\n  db:\n    environment:\n      - POSTGRES_PASSWORD=zebra-crossing\n",
        "app/settings.py": 'DATABASES = {"default": {"PASSWORD": "zebra-crossing"}}\n',
        "application.properties": "spring.datasource.password=zebra-crossing\n",
        "trace.har": '{"headers": [{"name": "Authorization", "value": "Bearer zebra-crossing"}]}\n',
        "notes.md": "nothing to hide\n",
    }

    def test_the_values_are_masked_and_listed_and_the_session_verifies(self, tmp_path: Path) -> None:
        collected = collect(tmp_path, self.FILES)
        assert (collected.code, collected.omissions) == (0, {})
        assert "masked: 5 secrets in 5 files" in collected.stderr
        assert b"zebra-crossing" not in collected.everything
        assert collected.stored("config/database.yml").read_text() == (
            "production:\n  host: db\n  password: [masked:password]\n"
        )
        where = {entry["where"].partition("/workspace/")[2] for entry in collected.audit["redactions"]}
        assert where == set(self.FILES) - {"notes.md"}
        assert {entry["count"] for entry in collected.audit["redactions"]} == {1}
        source = hashlib.sha256(str(self.FILES["config/database.yml"]).encode()).hexdigest()
        assert source in (collected.session / "audit.jsonl").read_text()
        assert runcard(tmp_path, "verify", str(collected.session)).returncode == 0

    def test_the_same_workspace_is_recognized(self, tmp_path: Path) -> None:
        first, again = collect(tmp_path, self.FILES), collect(tmp_path, self.FILES)
        assert (again.code, again.session) == (2, first.session)
        assert "was collected before with the same content" in again.stderr
        changed = collect(tmp_path, self.FILES | {"notes.md": "changed\n"})
        assert changed.session != first.session

    def test_they_are_kept_on_request(self, tmp_path: Path) -> None:
        collected = collect(tmp_path, self.FILES, "--keep-secrets")
        assert collected.audit["redactions"] == []
        for name, text in self.FILES.items():
            assert collected.stored(name).read_text() == text

    def test_a_pattern_that_names_the_file_itself_keeps_its_values(self, tmp_path: Path) -> None:
        collected = collect(tmp_path, self.FILES, "--exclude", "!trace.har")
        assert collected.stored("trace.har").read_text() == self.FILES["trace.har"]
        assert len(collected.audit["redactions"]) == 4

    def test_a_session_of_the_older_version_has_them_masked_as_well(self, tmp_path: Path) -> None:
        collected = collect(tmp_path, self.FILES, "--schema", "1.0.0")
        assert collected.code == 0
        assert b"zebra-crossing" not in collected.everything
        assert b'"rule":"password"' in (collected.session / "audit.jsonl").read_bytes().replace(b" ", b"")
        assert runcard(tmp_path, "verify", str(collected.session)).returncode == 0


class TestByName:
    NAMES = (
        "prod.env", ".envrc", "prod.tfvars", "terraform.tfstate.backup", "release.keystore", "wallet.dat",
        ".vault-token", ".yarnrc.yml", "pip.conf", "rclone.conf", ".config/gh/hosts.yml", "kubeconfig-prod",
        ".mcp.json", ".bash_history", ".python_history", ".codex/auth.json", ".credentials.json",
        "my-Credentials-2.JSON", "config/master.key", "cookies.txt",
    )  # fmt: skip

    def test_files_that_hold_credentials_by_their_names_stay_out(self, tmp_path: Path) -> None:
        collected = collect(tmp_path, dict.fromkeys(self.NAMES, "s3cret-of-no-known-form\n"))
        assert (collected.code, collected.omissions) == (0, {})
        assert sum(entry["count"] for entry in collected.audit["excluded"]) == len(self.NAMES)
        assert b"s3cret-of-no-known-form" not in collected.everything

    @pytest.mark.parametrize("pattern", ["!*", "!*.tfvars", "!prod.*", "!.config/gh/"])
    def test_a_wildcard_or_a_directory_brings_none_back(self, tmp_path: Path, pattern: str) -> None:
        files = {"prod.tfvars": "x", ".config/gh/hosts.yml": "x"}
        collected = collect(tmp_path, files, "--exclude", pattern)
        assert sum(entry["count"] for entry in collected.audit["excluded"]) == 2
