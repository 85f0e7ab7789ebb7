"""What somebody with write access to the bucket can do, and what `verify`, `show` and `prune` say about it."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from archives.records import make_run
from archives.remote.records_there import Server, archived, found
from archives.remote.scripted_proxy import ScriptedProxy
from conftest import Cli

_ENDS = (".tar.gz", ".index.json", ".metadata.json", ".SHA256SUMS")


def _base(url: str) -> str:
    return url.removesuffix(".tar.gz")


def test_a_record_that_is_replaced_with_all_its_copies_is_found_by_its_url_alone(
    cli: Cli, here: Path, folder: str, server: Server
) -> None:
    mine, other = (archived(cli, make_run(here / store), folder) for store in ("outputs", "others"))
    for end in _ENDS:
        server.put(_base(mine) + end, server.get(_base(other) + end))
    for word in (mine, folder):
        assert found(cli, word)["intact"] is False, word
    assert cli("restore", mine, "--to", str(here / "x")).code == 1


@pytest.mark.parametrize("data", [b"", b"\0" * 4000])
def test_an_archive_that_is_none_any_more_is_changed_and_incomplete(
    data: bytes, cli: Cli, run: Path, folder: str, server: Server
) -> None:
    """The verdict is that on an archive on a disk."""
    url = archived(cli, run, folder)
    server.put(url, data)
    for word in (url, folder):
        result = found(cli, word)
        assert (result["intact"], result["complete"]) == (False, False)


def test_an_index_that_lies_about_its_archive_is_found(
    cli: Cli, run: Path, folder: str, server: Server, here: Path
) -> None:
    url = archived(cli, run, folder)
    place = f"{_base(url)}.index.json"
    good = json.loads(server.get(place))
    for lie in ({"bytes": -1}, {"files": 1}, {"amended": True}, {"sizes": good["sizes"][1:]}):
        server.put(place, json.dumps(good | lie).encode())
        findings = found(cli, url)["findings"]
        assert [finding["message"] for finding in findings] == ["the index differs from the archive"], lie
    server.put(place, json.dumps(good | {"bytes": -1}).encode())
    assert cli("extract", url, "a.txt", "-o", str(here / "x")).code == 0


def test_what_is_beside_an_archive_that_is_gone_is_no_record(
    cli: Cli, here: Path, folder: str, server: Server
) -> None:
    urls = [archived(cli, make_run(here / "outputs"), folder) for _ in range(2)]
    server.delete(urls[0])
    assert cli("show", urls[0]).code == 1
    messages = [finding["message"] for finding in found(cli, folder)["findings"]]
    assert len(messages) == 1  # it was removed, and not: an upload was interrupted
    assert "it was removed" in messages[0]


def test_prune_keeps_the_evidence(
    cli: Cli, here: Path, folder: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replaced archive, what is left of a removed one, and files of other programs."""
    urls = [archived(cli, make_run(here / store), folder) for store in ("outputs", "others", "more")]
    for end in _ENDS:
        server.put(_base(urls[0]) + end, server.get(_base(urls[1]) + end))
    server.delete(urls[2])
    server.put(f"{folder}/site/main.index.json", b"{}")
    monkeypatch.setattr("runcard.operations.archives.prune_remote.DEAD_AFTER", timedelta(days=-1))
    result = json.loads(cli("prune", folder, "--max-size", "1", "--yes", "--json").out)
    assert [kept["path"] for kept in result["kept"]] == [urls[0]]
    left = server.keys(folder)
    assert "site/main.index.json" in left
    assert f"{_base(urls[2])}.metadata.json".removeprefix(f"{folder}/") in left


def test_uploads_of_others_are_not_aborted(cli: Cli, folder: str, server: Server) -> None:
    """Not those below another folder whose name begins in the same way, and not what is no archive."""
    _, _, bucket, key = folder.split("/", 3)
    others = [f"{key}-other/2026-01/x/x.tar.gz", f"{key}/dumps/x.tar.gz", f"{key}/x.bin"]
    others.append(
        f"{key}/2026-01/other/x.tar.gz"
    )  # where an archive can be, by a program that is not runcard
    server.put(f"{folder}/2026-01/x/x.index.json", b"{}", mark="0123456789abcdef")
    for name in (*others, f"{key}/2026-01/x/x.tar.gz"):
        server.client.create_multipart_upload(Bucket=bucket, Key=name)
    assert cli("prune", folder, "--older-than", "1000d", "--yes").code == 0
    left = server.client.list_multipart_uploads(Bucket=bucket)["Uploads"]
    assert sorted(upload["Key"] for upload in left) == sorted(others)


def test_a_gap_in_a_ledger_is_never_filled(cli: Cli, here: Path, folder: str, server: Server) -> None:
    for _ in range(4):
        archived(cli, make_run(here / "outputs"), folder)
    (second,) = [key for key in server.keys(folder) if key.endswith("00000002.jsonl")]
    server.delete(f"{folder}/{second}")
    archived(cli, make_run(here / "outputs"), folder)
    assert [key[-14:] for key in server.keys(folder) if "/ledger-" in key] == [
        f"{number:08}.jsonl" for number in (1, 3, 4, 5)
    ]


def test_objects_with_names_that_no_archive_has(cli: Cli, run: Path, folder: str, server: Server) -> None:
    archived(cli, run, folder)
    odd = f"{folder}/2026-11/x/a@b?c#d.tar.gz"
    server.put(odd, b"x")
    result = cli("verify", folder, "--json")
    assert result.code == 2
    assert [finding["record"] for finding in json.loads(result.out)["findings"]] == [odd]


@pytest.mark.parametrize("name", ["a/../b.tar.gz", "2026-11/x/a\tb\x01c.metadata.json", "./x", "a//b.tar.gz"])
def test_an_object_with_an_odd_name_does_not_block_the_folder(
    cli: Cli, here: Path, folder: str, server: Server, name: str
) -> None:
    urls = {archived(cli, make_run(here / "outputs"), folder) for _ in range(2)}
    server.put(f"{folder}/{name}", b"x")
    result = json.loads(cli("verify", folder, "--json").out)
    assert (result["intact"], result["tally"]["good"]) == (True, 2)
    assert cli("index", folder).code == 0
    assert {row["path"] for row in json.loads(cli("ls", "--json").out)["records"]} == urls
    assert cli("prune", folder, "--max-size", "1", "--yes").code == 0
    left = [key for key in server.keys(folder) if not key.startswith(".runcard/")]
    assert left == [name]


_LIKE_OURS = [
    f"2026-01/x/{name}"
    for name in ("app.index.json", "app.metadata.json", "app.metadata.json.sig", "app.SHA256SUMS")
]


def test_objects_of_other_programs_are_not_deleted_whatever_their_names(
    cli: Cli, run: Path, folder: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also beside an archive of runcard, in a folder of months, and however old they are."""
    url = archived(cli, run, folder)
    beside = f"{url.removeprefix(f'{folder}/').rpartition('/')[0]}/other.index.json"
    others = [*_LIKE_OURS, beside, ".runcard/uploads/0123456789abcdef"]
    for name in others:
        server.put(f"{folder}/{name}", b"{}")
    server.put(f"{folder}/{_LIKE_OURS[0]}", b"{}", mark="")
    monkeypatch.setattr("runcard.operations.archives.prune_remote.DEAD_AFTER", timedelta(days=-1))
    assert found(cli, folder)["findings"] == []
    result = json.loads(cli("prune", folder, "--max-size", "1", "--yes", "--json").out)
    assert [each["path"] for each in result["deleted"]] == [url]
    assert result["leftovers"] == []
    left = server.keys(folder)
    assert {name for name in left if "/ledger-" not in name} == set(others)


def test_what_killed_commands_left_is_named_before_it_is_removed(
    cli: Cli, here: Path, folder: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = archived(cli, make_run(here / "outputs"), folder)
    copy = server.get(f"{_base(url)}.metadata.json")
    assert cli("rm", url, "--yes").code == 0
    server.put(f"{_base(url)}.metadata.json", copy)  # as if it was killed after the archive was gone
    mark = "0123456789abcdef"
    upload, aside = f"{folder}/2026-01/y/y.SHA256SUMS", f"{folder}/.runcard/uploads/{mark}"
    server.put(upload, b"x", mark=mark)
    server.put(aside, b"xyz", mark=mark)
    expected = {f"{_base(url)}.metadata.json": len(copy), upload: 1, aside: 3}
    young = json.loads(cli("prune", folder, "--older-than", "1000d", "--yes", "--json").out)
    assert young["leftovers"] == []  # somebody may be at work
    monkeypatch.setattr("runcard.operations.archives.prune_remote.DEAD_AFTER", timedelta(days=-1))
    for options, is_there in ((("--dry-run",), True), (("--yes",), False)):
        result = json.loads(cli("prune", folder, "--older-than", "1000d", *options, "--json").out)
        assert {each["path"]: each["bytes"] for each in result["leftovers"]} == expected
        keys = {f"{folder}/{key}" for key in server.keys(folder)}
        assert expected.keys() <= keys if is_there else expected.keys().isdisjoint(keys)
    assert found(cli, folder)["findings"] == []


def test_an_object_of_another_program_is_not_replaced(
    cli: Cli, run: Path, folder: str, server: Server
) -> None:
    url = json.loads(cli("archive", str(run), "--to", folder, "--dry-run", "--json").out)["candidates"][0][
        "archive"
    ]
    server.put(f"{_base(url)}.metadata.json", b"theirs")
    refused = cli("archive", str(run), "--to", folder)
    assert refused.code == 1
    assert "no upload of runcard made it" in refused.err
    assert server.get(f"{_base(url)}.metadata.json") == b"theirs"
    assert run.exists()


def test_a_locked_archive_is_not_deleted(
    cli: Cli, run: Path, folder: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3 would hide it, and say nothing."""
    bucket = f"{folder.split('/')[2]}-locked"
    server.client.create_bucket(Bucket=bucket, ObjectLockEnabledForBucket=True)
    monkeypatch.setenv("RUNCARD_REMOTE_LOCK", "governance 30d")
    url = archived(cli, run, f"s3://{bucket}/x")
    refused = cli("rm", url, "--yes")
    assert refused.code == 1
    assert "it is locked until" in refused.err
    assert found(cli, f"s3://{bucket}/x")["findings"] == []


def test_a_server_that_refuses_is_not_a_folder_without_old_records(
    cli: Cli, run: Path, folder: str, proxy: ScriptedProxy
) -> None:
    archived(cli, run, folder)
    proxy.fail("GET", ".metadata.json", status=403, code="ExpiredToken", times=99)
    refused = cli("prune", folder, "--max-size", "1", "--yes")
    assert refused.code == 1
    assert "expired" in refused.err


def test_objects_that_cannot_be_read_have_no_mark(
    cli: Cli, run: Path, folder: str, server: Server, proxy: ScriptedProxy
) -> None:
    """An empty one, and one that these credentials may not read: neither keeps others from being verified."""
    archived(cli, run, folder)
    for name in ("empty.index.json", "secret.index.json"):
        server.put(f"{folder}/2026-01/x/{name}", b"")
    proxy.fail("GET", "secret.index.json", status=403, code="AccessDenied", times=99)
    result = cli("verify", folder, "--json")
    assert result.code in {0, 2}, result.err
    assert json.loads(result.out)["tally"]["good"] == 1
    assert cli("prune", folder, "--older-than", "1000d", "--yes").code == 0
