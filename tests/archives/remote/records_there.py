"""Records in object storage, and what tests do to them behind our back."""

import json
import shutil
from pathlib import Path
from typing import Any

import boto3

from conftest import Cli


def archived(cli: Cli, record: Path, folder: str) -> str:
    """The URL of the archive of a record, whose directory is gone."""
    result = cli("archive", str(record), "--to", folder, "--json")
    assert result.code == 0, result.err
    url: str = json.loads(result.out)["archived"][0]["archive"]
    assert not record.exists()
    return url


def copied_to_other_host(record: Path, folder: Path) -> Path:
    """A copy of a record's store, as another host has it."""
    shutil.copytree(record.parent, folder, symlinks=True)
    return folder / record.name


class Server:
    """The S3 server itself, without the proxy and without runcard."""

    def __init__(self, port: int) -> None:
        self.client: Any = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{port}",
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",  # noqa: S106 - of nobody
        )

    def get(self, url: str) -> bytes:
        return bytes(self.client.get_object(**_place(url))["Body"].read())

    def put(self, url: str, data: bytes, mark: str | None = None) -> None:
        """Write an object; with `mark`, as an upload of runcard does."""
        metadata = {"runcardupload": mark} if mark else {}
        self.client.put_object(**_place(url), Body=data, Metadata=metadata)

    def delete(self, url: str) -> None:
        self.client.delete_object(**_place(url))

    def keys(self, folder: str) -> list[str]:
        """The objects below a folder."""
        place = _place(folder)
        listed = self.client.list_objects_v2(Bucket=place["Bucket"], Prefix=place["Key"])
        return [item["Key"].removeprefix(f"{place['Key']}/") for item in listed.get("Contents", ())]


def _place(url: str) -> dict[str, str]:
    bucket, _, key = url.removeprefix("s3://").partition("/")
    return {"Bucket": bucket, "Key": key}


def found(cli: Cli, *arguments: str) -> dict[str, Any]:
    """The verdict of `verify`, as data."""
    data: dict[str, Any] = json.loads(cli("verify", *arguments, "--json").out)
    return data
