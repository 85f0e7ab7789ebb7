"""The user's own patterns: what they mask, which are refused, and that they count in every command."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import runcard
from conftest import Cli
from runcard.masking import (
    Masker,
    UserPattern,
    mask_bytes,
    mask_command,
    mask_data,
    mask_environment,
    mask_text,
    use_patterns,
)
from runcard.masking.pattern_safety import UnsafePatternError, safe_pattern
from runcard.settings import MASKING_PATTERNS, SettingsError, read_settings
from sessions.collecting.teams import lay_out

TOKEN = "acme_" + "a1b2c3d4e5" * 2
SETTINGS = """[masking]
patterns = [{ name = "acme-token", pattern = "acme_[a-z0-9]{20}" }, { name = "badge", pattern = 'ACME-\\d{6}' }]
"""


@pytest.fixture(autouse=True)
def no_patterns() -> Iterator[None]:
    yield
    use_patterns(())


@pytest.fixture
def acme() -> None:
    use_patterns([UserPattern("acme-token", "acme_[a-z0-9]{20}")])


@pytest.mark.usefixtures("acme")
def test_an_own_pattern_is_masked_in_every_shape() -> None:
    mark = "[masked:acme-token]"
    assert mask_text(f"a {TOKEN}, b") == (f"a {mark}, b", {"acme-token": 1})
    assert mask_bytes(f"\xff{TOKEN}".encode("latin-1")).value == b"\xff" + mark.encode()
    assert mask_data({"a": [TOKEN], TOKEN: 1}).value == {"a": [mark], mark: 1}
    assert mask_command(["tool", f"--id={TOKEN}"]).value == ["tool", f"--id={mark}"]
    assert mask_environment({"ID": TOKEN}).value == {"ID": mark}


@pytest.mark.usefixtures("acme")
def test_masking_by_an_own_pattern_twice_changes_nothing_more() -> None:
    use_patterns(
        [UserPattern("acme-token", "acme_[a-z0-9]{20}"), UserPattern("mask", "[a-z]{4,6}:[a-z-]{4,20}")]
    )
    once = mask_text(f"{TOKEN} password=hunter2 abcd:efgh").value
    assert "abcd" not in once
    assert mask_text(once) == (once, {})


@pytest.mark.usefixtures("acme")
def test_the_users_own_name_is_the_one_in_the_mark() -> None:
    assert mask_text(f"api_key={TOKEN}").value == "api_key=[masked:acme-token]"


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize("seed", range(5))
def test_a_stream_with_own_secrets_is_masked_alike_however_it_is_cut(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    text = "".join(
        random.choice([TOKEN, "acme_", "x" * 3000, "\n", " ", "password=hunter2 "]) for _ in range(200)
    )
    raw, masker, out, at = text.encode(), Masker(), b"", 0
    while at < len(raw):
        size = random.choice([1, 2, 7, 100, 5000])
        out += masker.feed(raw[at : at + size])
        at += size
    assert out + masker.flush() == mask_bytes(raw).value


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("acme_[a-z0-9]+", "acme_abc123"),
        (r"\bINT-[A-Z]{4}(?:-[A-Z]{4}){2}\b", "INT-ABCD-EFGH-IJKL"),
        ("(?i)acme-[0-9]{4,8}", "Acme-12345"),
        ("(live|test)_[0-9]{6}", "test_123456"),
        (r"id\s[^,;]{4}", "id 12.4"),
        (r"[\w.]{4}@acme\.dev", "ab.c@acme.dev"),
        (r"A{2}\{B\}C*", "AA{B}CC"),
    ],
)
def test_what_a_pattern_may_be_made_of(pattern: str, text: str) -> None:
    use_patterns([UserPattern("own", pattern)])
    assert mask_text(f"<{text}>").value == "<[masked:own]>"


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("abc(d", "not a regular expression"),
        ("(a+)+bcde", "several ways"),
        ("(a|ab){2,9}cdef", "several ways"),
        ("a+b+c+defg", "too open"),
        ("x{3000}", "too open"),
        ("abc", "fewer than 4"),
        ("a*", "fewer than 4"),
        ("(?=abcd)abcd", "not supported"),
        (r"(abcd)\1", "not supported"),
        ("^abcd", "not supported"),
        (r"ab[\n]cd", "not supported"),
        ("abcd+?", "not supported"),
        ("schlüssel", "ASCII"),
        ("a" * 501, "longer than"),
    ],
)
def test_a_pattern_that_a_text_could_make_slow_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(UnsafePatternError, match=reason):
        safe_pattern(pattern)


def test_a_pattern_never_goes_over_the_end_of_a_line() -> None:
    use_patterns([UserPattern("own", r"ab[^x]{2,9}\s{0,2}\W{0,2}cd")])
    assert mask_text("ab..\n..cd").counts == {}
    assert mask_text("ab.. ..cd").counts == {"own": 1}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ('"acme"', "allowed: a list such as"),
        ('["acme"]', "each entry needs a name and a pattern"),
        ('[{name = "a"}]', "each entry needs a name and a pattern"),
        ('[{name = "a b", pattern = "abcd"}]', "'a b': a name has letters"),
        ('[{name = "password", pattern = "abcd"}]', "'password': the name is already used"),
        ('[{name = "a", pattern = "abcd"}, {name = "a", pattern = "efgh"}]', "'a': the name is already used"),
        ('[{name = "a", pattern = "(a+)+"}]', "'a': the pattern is refused"),
    ],
)
def test_a_bad_setting_is_an_error_that_names_the_key(here: Path, value: str, reason: str) -> None:
    (here / "runcard.toml").write_text(f"[masking]\npatterns = {value}\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"runcard\.toml:2: masking\.patterns is ") as caught:
        read_settings()[MASKING_PATTERNS]
    assert reason in caught.value.message


def test_the_setting_in_the_environment_is_json(here: Path) -> None:
    text = '[{"name": "acme", "pattern": "acme_[0-9]{4}"}]'
    settings = read_settings(environ={"RUNCARD_MASKING_PATTERNS": text}, directory=str(here))
    assert settings[MASKING_PATTERNS] == (("acme", "acme_[0-9]{4}"),)
    for nothing in ("", "none"):
        settings = read_settings(environ={"RUNCARD_MASKING_PATTERNS": nothing}, directory=str(here))
        assert settings[MASKING_PATTERNS] == ()


def test_own_patterns_count_when_a_command_is_recorded(cli: Cli, here: Path) -> None:
    (here / "runcard.toml").write_text(SETTINGS, encoding="utf-8")
    done = cli(
        "run",
        "--quiet",
        "--label",
        "who=ACME-123456",
        "--set",
        f"id={TOKEN}",
        "--",
        "sh",
        "-c",
        f"echo {TOKEN}",
    )
    assert done.code == 0
    (document,) = here.glob("outputs/*/metadata.json")
    rules = {entry["rule"] for entry in json.loads(document.read_text("utf-8"))["redactions"]}
    assert rules >= {"acme-token", "badge"}
    assert (document.parent / "output.log").read_text("utf-8") == "[masked:acme-token]\n"
    assert not leaking(here / "outputs", TOKEN, "ACME-123456")


def test_own_patterns_count_in_the_library(here: Path) -> None:
    (here / "runcard.toml").write_text(SETTINGS, encoding="utf-8")
    with runcard.record(outputs=here / "elsewhere", config={"id": TOKEN}) as run:
        run.log("seen", who="ACME-123456")
    assert not leaking(here / "elsewhere", TOKEN, "ACME-123456")


def test_own_patterns_count_in_transcripts_and_workspaces(here: Path) -> None:
    spec = lay_out(here)
    (here / "runcard.toml").write_text(SETTINGS, encoding="utf-8")
    for name in ("logs/coordinator.log", "workspaces/researcher/report.md"):
        (here / name).write_text(f"seen {TOKEN}\n", encoding="utf-8")
    runcard.collect(spec, artifacts="kept", mask_workspaces=True)
    assert not leaking(here / "kept", TOKEN)


def test_redact_takes_an_own_rule(cli: Cli, here: Path) -> None:
    (here / "print.sh").write_text(f"echo {TOKEN}\n", encoding="utf-8")
    assert cli("run", "--quiet", "--", "sh", "print.sh").code == 0
    (record,) = here.glob("outputs/2*")
    assert TOKEN in (record / "output.log").read_text("utf-8")
    (here / "runcard.toml").write_text(SETTINGS, encoding="utf-8")
    assert cli("redact", record, "--rule", "acme-token", "--reason", "leaked", "--yes").code == 0
    assert (record / "output.log").read_text("utf-8") == "[masked:acme-token]\n"
    assert cli("redact", record, "--rule", "acme-tokens", "--reason", "x", "--yes").code == 64


def test_a_bad_pattern_stops_recording_before_anything_runs(cli: Cli, here: Path) -> None:
    (here / "runcard.toml").write_text(
        'masking.patterns = [{name = "a", pattern = "(a+)+b"}]\n', encoding="utf-8"
    )
    done = cli("run", "--", "touch", "ran")
    assert done.code == 125
    assert "masking.patterns" in done.err
    assert not (here / "ran").exists()


def leaking(folder: Path, *secrets: str) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if any(secret.encode() in path.read_bytes() for secret in secrets)]
