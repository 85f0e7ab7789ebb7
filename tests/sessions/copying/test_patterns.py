"""Which files are copied: what is left out by itself, what the user says, and what `.gitignore` files say."""

from pathlib import Path

import pytest

from runcard.errors import UsageError
from runcard.store.default_excludes import CREDENTIALS, GENERATED
from runcard.store.sessions.copying import check_patterns
from sessions.copying.workspaces import copy, make, paths, reasons, stored

# A file for each pattern that leaves out a credential.
SECRETS = {
    ".env": ".env",
    ".env.production": ".env.*",
    "prod.env": "*.env",
    ".envrc": ".envrc",
    "tls/server.pem": "*.pem",
    "config/master.key": "master.key",
    "tls/server.key": "*.key",
    "a.p12": "*.p12",
    "a.pfx": "*.pfx",
    "a.jks": "*.jks",
    "release.keystore": "*.keystore",
    "a.kdbx": "*.kdbx",
    "a.ppk": "*.ppk",
    "id_rsa": "id_rsa*",
    "id_ed25519.pub": "id_ed25519*",
    "id_ecdsa": "id_ecdsa*",
    "id_dsa": "id_dsa*",
    "home/.netrc": ".netrc",
    ".pgpass": ".pgpass",
    ".npmrc": ".npmrc",
    ".yarnrc.yml": ".yarnrc.yml",
    ".pypirc": ".pypirc",
    "etc/pip.conf": "pip.conf",
    "rclone.conf": "rclone.conf",
    ".git-credentials": ".git-credentials",
    ".htpasswd": ".htpasswd",
    ".vault-token": ".vault-token",
    "credentials": "credentials",
    "credentials.json": "credentials.json",
    "home/.credentials.json": "*credentials*.json",
    "my-service-account-1.json": "*service-account*.json",
    ".aws/config": ".aws/",
    "home/.ssh/known_hosts": ".ssh/",
    ".gnupg/x": ".gnupg/",
    ".kube/config": ".kube/",
    "kubeconfig.yaml": "kubeconfig*",
    "home/.docker/config.json": ".docker/config.json",
    "home/.config/gcloud/x": ".config/gcloud/",
    "home/.config/gh/hosts.yml": ".config/gh/",
    "home/.codex/auth.json": ".codex/auth.json",
    ".mcp.json": ".mcp.json",
    ".claude_mcp_config.json": ".claude_mcp_config.json",
    "secrets.yaml": "secrets.*",
    "infra/x.tfstate": "*.tfstate",
    "infra/x.tfstate.backup": "*.tfstate.*",
    "infra/prod.tfvars": "*.tfvars",
    "wallet.dat": "wallet.dat",
    "cookies.txt": "cookies.txt",
    "home/.bash_history": ".*_history",
}


class TestByDefault:
    def test_every_kind_of_credential_is_left_out_and_counted(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", dict.fromkeys(SECRETS, "planted") | {"kept.txt": ""})
        copied = copy(source)
        assert paths(copied) == ["kept.txt"]
        assert stored(source) == ["kept.txt"]
        assert copied.excluded == dict.fromkeys(sorted(SECRETS.values()), 1)
        assert set(SECRETS.values()) == set(CREDENTIALS)
        assert copied.omissions == ()

    def test_they_are_so_in_any_case(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {name.upper(): "planted" for name in SECRETS})
        assert paths(copy(source)) == []

    @pytest.mark.parametrize("name", GENERATED)
    def test_rubbish_is_left_out_at_any_depth_without_being_looked_into(
        self, tmp_path: Path, name: str
    ) -> None:
        source = make(tmp_path / "ws", {f"a/{name}/deep/1": "", f"a/{name}/2": "", "a/kept": ""})
        copied = copy(source)
        assert paths(copied) == ["a/kept"]
        assert copied.excluded == {name: 1}

    @pytest.mark.parametrize(
        "name",
        ["env", ".environment", "a.pem.txt", "keys", "my_id_rsa", "credentials.py", "config.json", "secrets",
         ".aws", "gcloud/x", "gh/hosts.yml", "auth.json", "env.py", "history.md", "browser_history", "my_cookies.txt",
         "config/pip.conf.md", "mcp.json", "tfvars.md", "GIT", ".gitignore", "node_modules.txt"],
    )  # fmt: skip
    def test_similar_names_are_kept(self, tmp_path: Path, name: str) -> None:
        assert paths(copy(make(tmp_path / "ws", {name: ""}))) == [name]


class TestWhatTheUserSays:
    def test_excludes_come_on_top(self, tmp_path: Path) -> None:
        files = {"a.log": "", "b.txt": "", "build/x": "", "sub/build/y": "", "top.tmp": "", "sub/top.tmp": ""}
        copied = copy(make(tmp_path / "ws", files), exclude=("*.log", "build/", "/top.tmp"))
        assert paths(copied) == ["b.txt", "sub/top.tmp"]
        assert copied.excluded == {"*.log": 1, "build/": 2, "/top.tmp": 1}

    def test_a_negation_brings_back_rubbish(self, tmp_path: Path) -> None:
        source = make(
            tmp_path / "ws", {".git/config": "", "node_modules/a/1.js": "", "node_modules/b/2.js": ""}
        )
        copied = copy(source, exclude=("!.git", "!node_modules/a/"))
        assert paths(copied) == [".git/config", "node_modules/a/1.js"]
        assert copied.excluded == {"node_modules": 1}

    def test_the_last_pattern_decides(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"a.log": "", "keep.log": "", "keep/b.log": ""})
        assert paths(copy(source, exclude=("*.log", "!keep.log", "!keep"))) == ["keep.log"]

    @pytest.mark.parametrize("pattern", ["!.env", "!/.env", "!.env.local", "!sub/.env"])
    def test_a_credential_comes_back_when_it_is_named(self, tmp_path: Path, pattern: str) -> None:
        named = pattern.lstrip("!/")
        source = make(tmp_path / "ws", {".env": "", ".env.local": "", "sub/.env": "", "other.pem": ""})
        got = paths(copy(source, exclude=(pattern,)))
        assert named in got
        assert set(got) <= {named, "sub/.env"}
        assert ("sub/.env" in got) == (pattern in {"!.env", "!sub/.env"})

    @pytest.mark.parametrize(
        "pattern", ["!*", "!**", "!.e*", "!.en?", "!.en[v]", "!.aws", "!.aws/", "!.aws/*"]
    )
    def test_a_wildcard_or_a_directory_brings_no_credential_back(self, tmp_path: Path, pattern: str) -> None:
        source = make(tmp_path / "ws", {".env": "", "sub/.env": "", ".aws/config": "", "kept": ""})
        assert paths(copy(source, exclude=(pattern,))) == ["kept"]

    def test_a_credential_in_a_directory_of_credentials_comes_back_alone(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {".aws/config": "", ".aws/credentials": "", ".aws/cli/x": ""})
        copied = copy(source, exclude=("!.aws/config", "!*"))
        assert paths(copied) == [".aws/config"]
        assert copied.excluded == {".aws/": 2}

    def test_a_credential_that_is_named_can_be_excluded_again(self, tmp_path: Path) -> None:
        assert paths(copy(make(tmp_path / "ws", {".env": ""}), exclude=("!.env", ".env"))) == []

    def test_only_what_is_included_is_copied_and_no_empty_directories(self, tmp_path: Path) -> None:
        source = make(
            tmp_path / "ws", {"a.py": "", "b.txt": "", "src/c.py": "", "docs/d.txt": "", "lib/x/e": ""}
        )
        copied = copy(source, include=("*.py", "lib/**"))
        assert paths(copied) == ["a.py", "lib/x/e", "src/c.py"]
        assert copied.excluded == {"not included": 2}
        assert not (tmp_path / "ws-copy" / "docs").exists()

    def test_includes_can_be_negated(self, tmp_path: Path) -> None:
        files = {"a.py": "", "tests/b.py": "", "c.log": ""}
        assert paths(copy(make(tmp_path / "1", files), include=("*.py", "!tests"))) == ["a.py"]
        assert paths(copy(make(tmp_path / "2", files), include=("!*.log",))) == ["a.py", "tests/b.py"]

    def test_including_brings_nothing_back(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {".env": "", "node_modules/x": ""})
        assert paths(copy(source, include=(".env", "node_modules/**", "*"))) == []

    def test_names_with_newlines_and_stray_bytes_are_matched(self, tmp_path: Path) -> None:
        source = make(
            tmp_path / "ws", {"a\nb/x.log": "", "c\n": "", "d\n.log": "", "\udcff.log": "", "c": ""}
        )
        assert paths(copy(source, exclude=("*.log", "c"))) == ["c\n"]

    @pytest.mark.parametrize("pattern", ["[", "a[", "[z-a]", "x\\", "!", "/", "a\0b"])
    def test_a_malformed_pattern_is_an_error_before_anything_is_made(
        self, tmp_path: Path, pattern: str
    ) -> None:
        source = make(tmp_path / "ws", {"a": ""})
        for rules in ({"exclude": (pattern,)}, {"include": ("*", pattern)}):
            with pytest.raises(UsageError, match="malformed") as caught:
                copy(source, **rules)
            assert caught.value.hint
        assert not (tmp_path / "ws-copy").exists()
        with pytest.raises(UsageError):
            check_patterns([pattern])

    def test_comments_and_blank_patterns_mean_nothing(self, tmp_path: Path) -> None:
        check_patterns(["# a comment", "", "  "])
        assert paths(copy(make(tmp_path / "ws", {"a": ""}), exclude=("# a", ""))) == ["a"]


IGNORING = {
    ".gitignore": "*.log\n/build\n# x\n[\n!keep.log\r\n",
    "a.log": "",
    "keep.log": "",
    "build/x": "",
    "sub/build/y": "",
    "sub/.gitignore": "!*.log\nz.log\nonly/\n",
    "sub/b.log": "",
    "sub/z.log": "",
    "sub/only/1": "",
    "other/only/1": "",
}


class TestGitignore:
    def test_it_counts_only_on_request(self, tmp_path: Path) -> None:
        assert len(paths(copy(make(tmp_path / "ws", IGNORING)))) == len(IGNORING)

    def test_nested_files_and_negations_count(self, tmp_path: Path) -> None:
        copied = copy(make(tmp_path / "ws", IGNORING), gitignore=True)
        left = {".gitignore", "keep.log", "sub/build/y", "sub/.gitignore", "sub/b.log", "other/only/1"}
        assert set(paths(copied)) == left
        assert copied.excluded == {"*.log": 1, "/build": 1, "z.log": 1, "only/": 1}

    def test_it_brings_nothing_back_that_is_left_out_otherwise(self, tmp_path: Path) -> None:
        source = make(
            tmp_path / "ws", {".gitignore": "!.env\n!node_modules\n", ".env": "", "node_modules/x": ""}
        )
        assert paths(copy(source, gitignore=True)) == [".gitignore"]

    def test_the_user_brings_back_what_it_ignores(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {".gitignore": "*.log\n", "a.log": "", "b.log": ""})
        assert paths(copy(source, gitignore=True, exclude=("!a.log",))) == [".gitignore", "a.log"]

    def test_one_that_is_a_link_or_too_large_is_not_read(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"a.log": "", "sub/.gitignore": b"*.log\n" * 300_000, "sub/b.log": ""})
        make(tmp_path, {"patterns": "*.log"})
        (source / ".gitignore").symlink_to("../patterns")
        copied = copy(source, gitignore=True)
        assert paths(copied) == ["a.log", "sub/.gitignore", "sub/b.log"]
        assert set(reasons(copied)) == {".gitignore", "sub/.gitignore"}
