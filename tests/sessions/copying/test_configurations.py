"""Configuration files of a workspace: copied, with the values of passwords and tokens masked, unless asked otherwise."""

import hashlib
import os
import tracemalloc
from pathlib import Path

import pytest

from masking.corpus_classes import read_files
from runcard.store.default_excludes import CONFIGURATIONS
from runcard.store.sessions.copying import Omission, Redaction
from runcard.store.sessions.copying.file_transfer import FileTransfer
from runcard.store.sessions.copying.omission_reasons import CHANGED
from runcard.store.sessions.copying.selection import is_configuration
from sessions.copying.workspaces import copy, make, paths, reasons, target_of

# Names of each pattern; and names that are similar, of files that are not masked.
NAMES = {
    "config/database.yml": "database.yml",
    "database.yaml": "database.yaml",
    "database.prod.yml": "database.*.yml",
    "database.prod.yaml": "database.*.yaml",
    "docker-compose.yml": "docker-compose*.yml",
    "a/docker-compose.override.yml": "docker-compose*.yml",
    "docker-compose-dev.yaml": "docker-compose*.yaml",
    "compose.yml": "compose.yml",
    "compose.yaml": "compose.yaml",
    "compose.override.yml": "compose.*.yml",
    "compose.override.yaml": "compose.*.yaml",
    "app/settings.py": "settings*.py",
    "settings_prod.py": "settings*.py",
    "local_settings.py": "local_settings.py",
    "app/settings/production.py": "settings/*.py",
    "src/main/resources/application.yml": "application*.yml",
    "application-prod.yml": "application*.yml",
    "application.yaml": "application*.yaml",
    "gradle.properties": "*.properties",
    "trace.har": "*.har",
}
OTHERS = (
    "my-database.yml", "database.yml.md", "docker-compose.txt", "composer.yml", "settings.pyi", "mysettings.py",
    "settings/a/b.py", "settings/x.md", "my-application.yml", "x.property", "har", "properties", "x.har.txt",
)  # fmt: skip
LINE = b'password: "q8Zebra"\n"password": "q8Zebra"\n'  # a value in each of these formats
MASKED = LINE.replace(b"q8Zebra", b"[masked:password]")
KEY = b"ghp_4fQz7LmW2xKc9RtYb1NvHd6SgJp3EaUo8TiX"


class TestCorpus:
    def test_every_secret_is_masked(self, tmp_path: Path) -> None:
        files = read_files("configuration_secrets")
        samples = {f"{n}-{name}/{name}": one for name, some in files.items() for n, one in enumerate(some)}
        source = make(tmp_path / "ws", {path: one.text for path, one in samples.items()})
        copied = copy(source)
        assert len(samples) >= 100
        assert paths(copied) == sorted(samples, key=os.fsencode)
        shown = {path: (target_of(source) / path).read_text() for path in samples}
        assert [path for path, one in samples.items() if one.leaks(shown[path])] == []

    def test_everything_else_stays(self, tmp_path: Path) -> None:
        files = read_files("configuration_innocents")
        source = make(
            tmp_path / "ws",
            {f"{n}-{name}/{name}": one.text for name, some in files.items() for n, one in enumerate(some)},
        )
        copied = copy(source)
        assert len(copied.files) >= 80
        assert [file.path for file in copied.files if file.source_sha256] == []
        assert copied.redactions == ()


class TestNames:
    def test_each_pattern_is_masked_at_any_depth_and_in_any_case(self, tmp_path: Path) -> None:
        names = [*NAMES, *(f"CASE/{name.swapcase()}" for name in NAMES)]
        source = make(tmp_path / "ws", dict.fromkeys(names, LINE))
        copied = copy(source)
        assert set(NAMES.values()) == set(CONFIGURATIONS)
        assert not any(b"q8Zebra" in (target_of(source) / path).read_bytes() for path in names)
        assert {redaction.path for redaction in copied.redactions} == set(names)

    @pytest.mark.parametrize("name", OTHERS)
    def test_other_names_are_copied_as_they_are(self, tmp_path: Path, name: str) -> None:
        source = make(tmp_path / "ws", {name: LINE})
        copied = copy(source)
        assert not is_configuration(name)
        assert (target_of(source) / name).read_bytes() == LINE
        assert copied.redactions == ()


class TestCopies:
    def test_both_digests_and_the_number_of_secrets_are_told(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"database.yml": LINE, "notes.md": LINE})
        copied = copy(source)
        file, other = copied.files
        assert (target_of(source) / "database.yml").read_bytes() == MASKED
        assert (file.size, file.sha256) == (len(MASKED), hashlib.sha256(MASKED).hexdigest())
        assert file.source_sha256 == hashlib.sha256(LINE).hexdigest()
        assert other.source_sha256 is None
        assert copied.redactions == (Redaction("password", "database.yml", 2),)
        assert (source / "database.yml").read_bytes() == LINE

    @pytest.mark.parametrize("rules", [{"scan": False}, {"exclude": ("!config/database.yml",)}])
    def test_it_is_stored_unchanged_on_request(self, tmp_path: Path, rules: dict[str, bool]) -> None:
        """With `--keep-secrets`, and with a pattern that names the file itself."""
        source = make(tmp_path / "ws", {"config/database.yml": LINE})
        copied = copy(source, **rules)
        assert (target_of(source) / "config/database.yml").read_bytes() == LINE
        assert copied.redactions == ()

    def test_a_wildcard_does_not_bring_the_values_back(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"config/database.yml": LINE})
        copy(source, exclude=("!*.yml", "!config/"))
        assert (target_of(source) / "config/database.yml").read_bytes() == MASKED

    def test_with_all_texts_masked_it_is_checked_as_strictly(self, tmp_path: Path) -> None:
        source = make(
            tmp_path / "ws", {"database.yml": "password: sunshine\n", "a.txt": "password: sunshine\n"}
        )
        copied = copy(source, mask=True)
        assert [redaction.path for redaction in copied.redactions] == ["database.yml"]

    @pytest.mark.parametrize("filler", [b"", b"x: y\n" * 100_000])
    def test_one_with_the_key_of_a_vendor_is_left_out(self, tmp_path: Path, filler: bytes) -> None:
        source = make(tmp_path / "ws", {"compose.yml": filler + b"a: " + KEY + b"\n" + LINE, "b.yml": b""})
        copied = copy(source)
        assert reasons(copied) == {"compose.yml": "contains a secret (github-token)"}
        assert paths(copied) == ["b.yml"]
        assert not (target_of(source) / "compose.yml").exists()
        assert copied.redactions == ()

    def test_credentials_stay_out(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"secrets.properties": LINE, ".env.har": LINE, "a.har": LINE})
        assert paths(copy(source)) == ["a.har"]

    @pytest.mark.parametrize(
        "data",
        [
            b"\xef\xbb\xbfpassword: sunshine\r\nhost: db\r\n",
            b"name: M\xfcller\npassword: sunsh\xefne\n",
            b"password: sunshine",
        ],
        ids=["a byte order mark and CRLF", "Latin-1", "no line end"],
    )
    def test_encodings_and_line_ends(self, tmp_path: Path, data: bytes) -> None:
        source = make(tmp_path / "ws", {"database.yml": data})
        copy(source)
        expected = data.replace(b"sunshine", b"[masked:password]").replace(
            b"sunsh\xefne", b"[masked:password]"
        )
        assert (target_of(source) / "database.yml").read_bytes() == expected

    def test_a_binary_file_is_left_alone(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"a.properties": b"\0" + LINE})
        copied = copy(source)
        assert (target_of(source) / "a.properties").read_bytes() == b"\0" + LINE
        assert copied.redactions == ()

    def test_links_are_not_followed(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"a/real.txt": LINE})
        (source / "database.yml").symlink_to("a/real.txt")
        copied = copy(source)
        assert [link.path for link in copied.symlinks] == ["database.yml"]
        assert (target_of(source) / "database.yml").is_symlink()

    def test_times_and_permissions_stay(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"gradle.properties": LINE})
        (source / "gradle.properties").chmod(0o744)
        os.utime(source / "gradle.properties", ns=(1, 5_000_000_007))
        copy(source)
        status = (target_of(source) / "gradle.properties").stat()
        assert (status.st_mode & 0o777, status.st_mtime_ns) == (0o700, 5_000_000_007)

    def test_limits_count(self, tmp_path: Path) -> None:
        source = make(tmp_path / "ws", {"a.har": LINE, "b.properties": LINE})
        copied = copy(source, max_size=len(LINE) + 1)
        assert paths(copied) == ["a.har"]
        assert list(reasons(copied)) == ["b.properties"]

    def test_one_that_changes_is_told(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        source = make(tmp_path / "ws", {"a.har": LINE * 50_000})
        write = FileTransfer._write

        def meanwhile(self: FileTransfer, data: memoryview, start: int) -> None:
            with (source / "a.har").open("ab") as file:
                file.write(LINE)
            write(self, data, start)

        monkeypatch.setattr(FileTransfer, "_write", meanwhile)
        copied = copy(source)
        assert copied.omissions == (Omission("a.har", CHANGED, is_stored=True),)
        assert copied.redactions == (Redaction("password", "a.har", 100_000),)

    def test_memory_does_not_grow_with_it(self, tmp_path: Path) -> None:
        body = b"%d" % 10**40 * 100
        entry = b'{"name": "Authorization", "value": "Bearer our-gateway-key", "body": "' + body + b'"},\n'
        source = make(tmp_path / "ws", {"a.har": entry * 3000})
        tracemalloc.start()
        copied = copy(source)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert copied.redactions == (Redaction("bearer-token", "a.har", 3000),)
        assert peak < len(entry) * 1500
