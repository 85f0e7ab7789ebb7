"""URLs that are mistyped, and folders on this machine that look like one."""

import json
import os
from pathlib import Path

import pytest

import runcard
from archives.records import make_run
from archives.remote.records_there import Server, archived, found
from conftest import Cli
from runcard.errors import UsageError
from runcard.store.remote.urls import ObjectUrl


@pytest.mark.parametrize(
    "url",
    ["S3://bucket/x", "s3:/bucket/x", "gcs://bucket/x", "https://host/x", "s3://bucket/x.tar.gz", "s3://"],
)
def test_a_record_never_goes_to_a_folder_called_as_a_url(url: str, cli: Cli, run: Path, here: Path) -> None:
    before = sorted(os.listdir(here))
    refused = cli("archive", str(run), "--to", url)
    assert refused.code == 64
    assert "hint:" in refused.err
    assert run.is_dir()
    with pytest.raises(UsageError):
        runcard.archive(run, to=url)
    assert sorted(os.listdir(here)) == before


def test_a_store_is_a_folder_on_this_machine(
    cli: Cli, here: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("archive", str(run)).code == 0
    assert cli("restore", run.name, "--to", "s3://bucket/x").code == 64
    with pytest.raises(UsageError):
        runcard.record("s3://bucket/x")
    assert cli("run", "--outputs", "s3://bucket/x", "--", "true").code == 64
    monkeypatch.setenv("RUNCARD_OUTPUTS", "s3://bucket/x")
    assert cli("run", "--", "true").code == 125
    assert "s3:" not in os.listdir(here)


@pytest.mark.parametrize(
    "url", ["s3://AKIA:topsecret@b/x", "s3://AKIA:top/topsecret@b/x", "s3://AKIA:topsecret"]
)
def test_credentials_in_a_url_are_not_repeated(url: str) -> None:
    with pytest.raises(UsageError) as error:
        ObjectUrl.parse(url)
    assert "topsecret" not in f"{error.value.message} {error.value.hint}"


def test_a_url_is_never_read_as_a_path(cli: Cli, here: Path, run: Path, folder: str) -> None:
    """A folder `s3:` can come with a repository."""
    url = archived(cli, run, folder)
    fake = here / folder.replace("//", "/")
    fake.mkdir(parents=True)
    (fake / "metadata.json").write_text("{}")
    (here / url.replace("//", "/")).parent.mkdir(parents=True)
    (here / url.replace("//", "/")).write_bytes(b"")
    for word in (url, folder):
        result = found(cli, word)
        assert (result["intact"], result["complete"]) == (True, True)
        assert [record["path"] for record in result["records"]] == [url]


def test_a_folder_without_archives_is_not_verified(cli: Cli, folder: str, run: Path) -> None:
    """A typing error must not look like good records."""
    archived(cli, run, folder)
    refused = cli("verify", f"{folder}-typo")
    assert refused.code == 1
    assert "holds no records" in refused.err + refused.out
    assert "no records" not in cli("verify", folder).out
    assert cli("rm", f"{run.name}", "--yes").code == 0
    assert cli("verify", folder).code == 0  # its ledger says that all were deleted


def test_folders_below_a_folder_have_their_own_ledgers(
    cli: Cli, here: Path, folder: str, server: Server
) -> None:
    above = folder.rpartition("/")[0]
    url = archived(cli, make_run(here / "outputs"), folder)
    month = url.rsplit("/", 2)[0]
    for word in (above, month):
        assert found(cli, word)["findings"] == [], word
    assert cli("prune", above, "--max-size", "1", "--yes").code == 0
    assert len([key for key in server.keys(folder) if "/ledger-" in key]) == 2
    assert json.loads(cli("verify", folder, "--json").out)["findings"] == []
