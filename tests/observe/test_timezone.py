import os
import time
from pathlib import Path

import pytest

from runcard.observe.timezone import timezone

BERLIN, KOLKATA, UTC = b"TZif2 berlin", b"TZif2 kolkata", b"TZif2 utc"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine with a small zone database."""
    zones = tmp_path / "usr/share/zoneinfo"
    for name, contents in {
        "Europe/Berlin": BERLIN,
        "Europe/Copenhagen": BERLIN,
        "Asia/Kolkata": KOLKATA,
        "right/Asia/Kolkata": KOLKATA,
        "America/Argentina/Buenos_Aires": b"TZif2 argentina",
        "Etc/UTC": UTC,
        "UTC": UTC,
        "EST5EDT": b"TZif2 est",
        "localtime": KOLKATA,
        "Made/Twin": b"TZif2 twins",
        "Made/Other_Twin": b"TZif2 twins",
        "leapseconds": b"text",
        "zone1970.tab": b"# comment\nDE,DK\t+5230+01322\tEurope/Berlin\tmost\n\n",
    }.items():
        file = zones / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(contents)
    (tmp_path / "etc").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("variable", "zone"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        (":Asia/Kolkata", "Asia/Kolkata"),
        ("America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires"),
        ("/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
        ("posix/Europe/Berlin", "Europe/Berlin"),
        ("right/Asia/Kolkata", "Asia/Kolkata"),
        ("EST5EDT", "EST5EDT"),
        ("", "UTC"),
        (":", "UTC"),
        ("UTC", "UTC"),
        ("UTC0", "UTC"),
        ("UTC-00", "UTC"),
        ("UTC-1", None),
        ("CET-1CEST,M3.5.0,M10.5.0/3", None),
        ("<+0330>-3:30", None),
        ("Europe/Atlantis", None),
        ("Europe", None),
        ("localtime", None),
        ("leapseconds", None),
        ("../../../etc/passwd", None),
        ("/some/where/else", None),
        ("Europe/Berlin\udcff", None),
    ],
)
def test_the_variable_names_a_zone_or_does_not(variable: str, zone: str | None, root: Path) -> None:
    (root / "etc/localtime").symlink_to("/usr/share/zoneinfo/Asia/Kolkata")
    assert timezone({"TZ": variable}, str(root)) == zone


def test_the_variable_can_point_at_the_system(root: Path) -> None:
    (root / "etc/localtime").symlink_to("/usr/share/zoneinfo/Asia/Kolkata")
    assert timezone({"TZ": ":/etc/localtime"}, str(root)) == "Asia/Kolkata"


@pytest.mark.parametrize(
    "target", ["../usr/share/zoneinfo/Europe/Berlin", "/var/db/timezone/zoneinfo/Europe/Berlin"]
)
def test_the_link_says_it_and_not_the_note(target: str, root: Path) -> None:
    (root / "etc/localtime").symlink_to(target)
    (root / "etc/timezone").write_text("Asia/Kolkata\n")
    assert timezone({}, str(root)) == "Europe/Berlin"


def test_a_link_can_lead_over_others(root: Path) -> None:
    (root / "etc/localtime").symlink_to("chosen")
    (root / "etc/chosen").symlink_to("/usr/share/zoneinfo/Asia/Kolkata")
    assert timezone({}, str(root)) == "Asia/Kolkata"


def test_links_in_a_circle_lead_nowhere(root: Path) -> None:
    (root / "etc/localtime").symlink_to("localtime")
    assert timezone({}, str(root)) is None


def test_a_copy_is_known_by_its_contents(root: Path) -> None:
    (root / "etc/localtime").write_bytes(KOLKATA)
    assert timezone({}, str(root)) == "Asia/Kolkata"


def test_of_several_with_the_same_contents_the_note_decides(root: Path) -> None:
    (root / "etc/localtime").write_bytes(BERLIN)
    (root / "etc/timezone").write_text("Europe/Copenhagen\n")
    assert timezone({}, str(root)) == "Europe/Copenhagen"


def test_of_several_without_a_note_it_is_the_one_that_is_no_alias(root: Path) -> None:
    (root / "etc/localtime").write_bytes(BERLIN)
    assert timezone({}, str(root)) == "Europe/Berlin"


def test_a_note_that_does_not_fit_is_not_believed(root: Path) -> None:
    (root / "etc/localtime").write_bytes(KOLKATA)
    (root / "etc/timezone").write_text("Europe/Berlin\n")
    assert timezone({}, str(root)) == "Asia/Kolkata"


def test_all_names_of_utc_are_utc(root: Path) -> None:
    (root / "etc/localtime").write_bytes(UTC)
    assert timezone({}, str(root)) == "UTC"


@pytest.mark.parametrize("contents", [b"TZif2 twins", b"TZif2 nobody has it", b""])
def test_what_cannot_be_told_is_unknown(contents: bytes, root: Path) -> None:
    (root / "etc/localtime").write_bytes(contents)
    assert timezone({}, str(root)) is None


def test_a_system_file_that_cannot_be_read_is_unknown(root: Path) -> None:
    (root / "etc/localtime").mkdir()
    assert timezone({}, str(root)) is None


def test_a_zone_file_that_cannot_be_read_is_passed_over(root: Path) -> None:
    (root / "usr/share/zoneinfo/Asia/Nowhere").symlink_to("gone")
    (root / "etc/localtime").write_bytes(KOLKATA)
    assert timezone({}, str(root)) == "Asia/Kolkata"


def test_without_a_file_the_c_library_runs_on_utc(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "timezone", 0)
    monkeypatch.setattr(time, "tzname", ("UTC", "UTC"))
    assert timezone({}, str(root)) == "UTC"
    monkeypatch.setattr(time, "tzname", ("CET", "CEST"))
    assert timezone({}, str(root)) is None


def test_without_a_database_a_name_is_believed(tmp_path: Path) -> None:
    assert timezone({"TZ": "Europe/Berlin"}, str(tmp_path)) == "Europe/Berlin"
    assert timezone({"TZ": "UTC"}, str(tmp_path)) == "UTC"
    assert timezone({"TZ": "EST5EDT"}, str(tmp_path)) is None


def test_this_machine_has_a_zone_or_none() -> None:
    zone = timezone(os.environ)
    assert zone is None or zone[0].isalpha()
