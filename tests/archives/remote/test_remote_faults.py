"""A server that fails, refuses or lies, and hosts that work at the same time."""

import json
import shutil
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from archives.records import make_run, state
from archives.remote.conftest import KEY_ID, SECRET
from archives.remote.records_there import Server, archived, copied_to_other_host, found
from archives.remote.scripted_proxy import Request, ScriptedProxy
from conftest import Cli


def test_busy_answers_and_cut_connections_are_tried_again(
    cli: Cli, run: Path, folder: str, proxy: ScriptedProxy, tmp_path: Path
) -> None:
    before = state(run)
    proxy.fail("PUT", ".metadata.json", status=503, code="SlowDown", times=2)
    proxy.fail("PUT", ".tar.gz", passes_on=True)  # it was created, and the answer is lost
    proxy.fail("GET", ".tar.gz", keep=100_000, times=2)
    proxy.fail("PUT", "ledger-", passes_on=True)
    url = archived(cli, run, folder)
    assert found(cli, folder)["findings"] == []
    proxy.reset()
    proxy.fail("GET", ".tar.gz", keep=50_000, times=2)
    proxy.fail("GET", ".index.json", status=500, code="InternalError", times=2)
    assert cli("extract", url, "large.bin", "-o", str(tmp_path / "x")).code == 0
    proxy.fail("GET", ".tar.gz", keep=70_000, times=2)
    assert cli("restore", url).code == 0
    assert state(run) == before


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (403, "AccessDenied", "access denied"),
        (400, "Strange", "Strange"),
        pytest.param(400, "ExpiredToken", "expired", marks=pytest.mark.long),
        pytest.param(403, "RequestTimeTooSkewed", "clock", marks=pytest.mark.long),
        pytest.param(403, "InvalidAccessKeyId", "access key", marks=pytest.mark.long),
        pytest.param(404, "NoSuchBucket", "bucket does not exist", marks=pytest.mark.long),
    ],
)
def test_what_a_server_refuses_is_said_and_the_record_stays(
    cli: Cli, run: Path, folder: str, proxy: ScriptedProxy, status: int, code: str, words: str
) -> None:
    before = state(run)
    proxy.fail("PUT", ".tar.gz", status=status, code=code, times=99)
    refused = cli("archive", str(run), "--to", folder)
    assert refused.code == 1
    assert words in refused.err
    assert "hint:" in refused.err
    assert state(run) == before
    proxy.reset()
    archived(cli, run, folder)  # what the first attempt left does no harm
    assert found(cli, folder)["findings"] == []


def test_a_bucket_that_is_gone_and_a_server_that_does_not_answer(
    cli: Cli, run: Path, folder: str, proxy: ScriptedProxy, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = archived(cli, run, folder)
    for arguments in (
        ("verify", url),
        ("show", url),
        ("restore", url),
        ("verify", folder),
        ("index", folder),
    ):
        proxy.reset()
        proxy.fail("GET", "", status=403, code="ExpiredToken", times=99)
        proxy.fail("HEAD", "", status=403, code="ExpiredToken", times=99)
        assert cli(*arguments).code == 1
    proxy.reset()
    bucket = folder.split("/")[2]
    for key in server.keys(f"s3://{bucket}/"):
        server.client.delete_object(Bucket=bucket, Key=key.removeprefix("/"))
    server.client.delete_bucket(Bucket=bucket)
    gone = cli("restore", url)
    assert gone.code == 1
    assert "does not exist" in gone.err
    assert "bucket" in cli("verify", folder).err
    monkeypatch.setattr("runcard.store.remote.bucket._RETRIES", 0)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    silent = cli("verify", url)
    assert silent.code == 1
    assert "no answer" in silent.err


def test_one_of_two_hosts_wins_and_the_other_says_so(
    cli: Cli, run: Path, folder: str, proxy: ScriptedProxy, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = copied_to_other_host(run, here / "other")
    before = state(other)
    winners: list[str] = []

    def race(request: Request) -> None:
        """When the other host is about to create the archive, this one does."""
        if request.method == "PUT" and request.path.endswith(".tar.gz") and not winners:
            winners.append("")
            from runcard import archive  # noqa: PLC0415

            winners.append(str(archive(run, to=folder).archive_path))

    def host() -> str:
        return "other" if threading.current_thread() is threading.main_thread() else "this"

    monkeypatch.setattr("runcard.store.remote.upload.host_name", host)
    proxy.before = race
    lost = cli("archive", str(other), "--to", folder)
    assert lost.code == 1
    assert "archived it" in lost.err
    assert state(other) == before
    assert not run.exists()
    assert found(cli, folder)["findings"] == []


def test_another_record_of_the_same_name_is_never_replaced(
    cli: Cli, run: Path, folder: str, here: Path, server: Server
) -> None:
    copy = copied_to_other_host(run, here / "other")
    url = archived(cli, run, folder)
    old = server.get(url)
    assert cli("amend", str(copy), "note", "later").code == 0
    refused = cli("archive", str(copy), "--to", folder)
    assert refused.code == 1
    assert "exists already" in refused.err
    assert server.get(url) == old


def test_an_archive_that_is_replaced_while_it_is_read_is_an_error(
    cli: Cli, here: Path, folder: str, proxy: ScriptedProxy, server: Server
) -> None:
    urls = [archived(cli, make_run(here / "outputs"), folder) for _ in range(2)]
    other = server.get(urls[1])

    def replace(request: Request) -> None:
        if request.method == "GET" and request.path.endswith(".tar.gz"):
            proxy.before = None
            server.put(urls[0], other)

    proxy.before = replace
    result = cli("verify", urls[0])
    assert result.code == 1
    assert "was replaced while it was read" in result.out + result.err


def test_large_archives_go_in_parts_and_dead_uploads_are_removed(
    cli: Cli, run: Path, folder: str, proxy: ScriptedProxy, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runcard.store.remote.upload._LARGE", 1 << 20)
    copy = run.parent.parent / "kept"
    shutil.copytree(run.parent, copy, symlinks=True)
    proxy.fail("PUT", "partNumber", status=403, code="AccessDenied", times=99)
    assert cli("archive", str(run), "--to", folder).code == 1
    bucket = folder.split("/")[2]
    assert "Uploads" not in server.client.list_multipart_uploads(Bucket=bucket)
    proxy.reset()
    url = archived(cli, run, folder)
    assert any("uploadId" in request.path for request in proxy.requests)
    assert found(cli, url)["findings"] == []
    key = folder.split("/", 3)[3]
    server.client.create_multipart_upload(Bucket=bucket, Key=f"{key}/2026-01/x/x.tar.gz")
    server.put(f"{folder}/2026-01/x/x.index.json", b"{}", mark="0123456789abcdef")
    assert cli("prune", folder, "--older-than", "1000d", "--yes").code == 0
    assert "Uploads" not in server.client.list_multipart_uploads(Bucket=bucket)


def test_a_lock_is_set_on_every_object(
    cli: Cli, run: Path, folder: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = f"{folder.split('/')[2]}-locked"
    server.client.create_bucket(Bucket=bucket, ObjectLockEnabledForBucket=True)
    monkeypatch.setenv("RUNCARD_REMOTE_LOCK", "governance 30d")
    url = archived(cli, run, f"s3://{bucket}/x")
    for key in server.keys(f"s3://{bucket}/x"):
        state = server.client.head_object(Bucket=bucket, Key=f"x/{key}")
        assert state["ObjectLockMode"] == "GOVERNANCE", key
    assert cli("verify", url).code == 0


def test_credentials_are_in_no_record_log_or_error(
    cli: Cli, run: Path, folder: str, proxy: ScriptedProxy, server: Server, here: Path
) -> None:
    proxy.fail("PUT", ".tar.gz", status=403, code="SignatureDoesNotMatch", times=99)
    texts = [cli("archive", str(run), "--to", folder, "--json")]
    proxy.reset()
    texts.append(cli("archive", str(run), "--to", folder, "--json"))
    assert texts[-1].code == 0
    texts.append(cli("verify", folder, "--json"))
    texts.append(cli("show", f"s3://{KEY_ID}:{SECRET}@bucket/x.tar.gz"))
    assert texts[-1].code == 64
    written = [data.read_bytes() for data in here.rglob("*") if data.is_file()]
    objects = [server.get(f"{folder}/{key}") for key in server.keys(folder)]
    said = json.dumps([(text.out, text.err) for text in texts]).encode()
    for secret in (KEY_ID, SECRET, "AKIA-IN-BODY"):
        assert secret.encode() not in said
        assert not any(secret.encode() in data for data in [*written, *objects])


def test_what_a_killed_upload_left_is_not_overwritten_before_a_day_has_passed(
    cli: Cli, run: Path, folder: str, server: Server, proxy: ScriptedProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy.fail("PUT", ".tar.gz", status=403, code="AccessDenied", times=99)
    assert cli("archive", str(run), "--to", folder).code == 1
    proxy.reset()
    (copy,) = [key for key in server.keys(folder) if key.endswith(".metadata.json")]
    server.put(f"{folder}/{copy}", b"{}", mark="0123456789abcdef")  # of another record with this name
    busy = cli("archive", str(run), "--to", folder)
    assert busy.code == 1
    assert "another host is archiving" in busy.err
    assert "interrupted" in json.dumps(found(cli, folder)["findings"])
    for module in ("store.remote.upload", "operations.archives.prune_remote"):
        monkeypatch.setattr(f"runcard.{module}.DEAD_AFTER", timedelta(0))
    assert cli("prune", folder, "--older-than", "1000d", "--yes").code == 0
    assert server.keys(folder) == []
    server.put(f"{folder}/{copy}", b"{}", mark="0123456789abcdef")
    archived(cli, run, folder)
    assert found(cli, folder)["findings"] == []


def test_credentials_of_a_profile_are_used(
    cli: Cli, run: Path, folder: str, proxy: ScriptedProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "credentials"
    file.write_text("[team]\naws_access_key_id = AKIAPROFILE\naws_secret_access_key = profile-secret\n")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    monkeypatch.setenv("AWS_PROFILE", "team")
    archived(cli, run, folder)
    assert all("AKIAPROFILE" in request.headers.get("authorization", "") for request in proxy.requests)


def test_a_large_archive_on_other_services_is_copied_with_a_condition(
    cli: Cli, run: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryStore()
    monkeypatch.setattr("runcard.store.remote.bucket._open", lambda *_: store)
    monkeypatch.setattr("runcard.store.remote.upload._LARGE", 1 << 20)
    before, copy = state(run), copied_to_other_host(run, here / "other")
    url = archived(cli, run, "gs://bucket/x")
    assert found(cli, "gs://bucket/x")["findings"] == []
    assert not any("uploads" in item["path"] for batch in store.list() for item in batch)
    monkeypatch.setattr("runcard.store.remote.upload.host_name", lambda: "other")
    assert cli("archive", str(copy), "--to", "gs://bucket/x").code == 1
    assert cli("restore", url).code == 0
    assert state(run) == before
