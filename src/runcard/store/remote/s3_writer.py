"""Writing to S3 what `obstore` cannot: a large object create-only, objects with a lock, and cleaning up dead uploads.

`obstore` creates an object only in one request, from memory; it does not list uploads that died, and sends the headers of an
object lock with every request or none. So these requests go through boto3, with the same credentials and the same endpoint.
"""

import contextlib
import hashlib
import os
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from typing import Any, NamedTuple

from runcard.errors import RuncardError
from runcard.extras import missing_package
from runcard.parallel.calls import CallThreads
from runcard.store.remote.bucket import ObjectState, server_failure
from runcard.store.remote.urls import ObjectUrl, is_archive_place

PART = 32 << 20  # bytes; S3 takes up to 10,000 parts, and larger ones of an archive of more than 300 GB
_MOST_PARTS = 10_000
_THREADS = 4
_EXISTS = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "412", "409"})
DEAD_AFTER = timedelta(days=1)  # an upload that is older than this is not going on any more


def _no_boto3() -> RuncardError:
    return missing_package("large or locked objects in S3 need", "boto3", "s3")


class ObjectLock(NamedTuple):
    """How long an object is protected from being deleted or replaced."""

    mode: str  # GOVERNANCE or COMPLIANCE
    days: int

    @property
    def headers(self) -> dict[str, object]:
        until = datetime.now(UTC) + timedelta(days=self.days)
        return {"ObjectLockMode": self.mode, "ObjectLockRetainUntilDate": until}


class S3Writer:
    """Writes objects to a bucket."""

    def __init__(self, lock: ObjectLock | None = None) -> None:
        self._lock: dict[str, Any] = dict(lock.headers) if lock else {}

    @cached_property
    def _client(self) -> Any:  # noqa: ANN401 - boto3 has no types
        try:
            import boto3  # noqa: PLC0415 - it takes a second to load
            from botocore.config import Config  # noqa: PLC0415
        except ImportError:
            raise _no_boto3() from None
        config = Config(
            retries={"mode": "standard", "max_attempts": 6},
            request_checksum_calculation="when_required",  # not every S3 server knows the newer checksums
            connect_timeout=10,
            read_timeout=600,  # completing a large upload takes minutes
        )
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        return boto3.client("s3", region_name=region, config=config)

    def create(self, url: ObjectUrl, data: bytes, attributes: dict[str, str] | None = None) -> bool:
        """Create a small object; False when there is one already."""
        with _failures(url) as outcome:
            self._client.put_object(
                Bucket=url.bucket,
                Key=url.key,
                Body=data,
                IfNoneMatch="*",
                Metadata=attributes or {},
                **self._lock,
                **self._checksum(data),
            )
        return outcome.is_created

    def upload(self, url: ObjectUrl, descriptor: int, size: int, attributes: dict[str, str]) -> bool:
        """Create an object from an open file, in parts; False when there is one already. Nothing is left of one that fails."""
        own = {"Bucket": url.bucket, "Key": url.key}
        with _failures(url) as outcome:
            upload = self._client.create_multipart_upload(**own, Metadata=attributes, **self._lock)
            own["UploadId"] = upload["UploadId"]
            try:
                parts = {"Parts": self._upload_parts(own, descriptor, size)}
                self._client.complete_multipart_upload(**own, MultipartUpload=parts, IfNoneMatch="*")
            except BaseException:
                self._abort(own)
                raise
        return outcome.is_created

    def _upload_parts(self, own: dict[str, str], descriptor: int, size: int) -> list[dict[str, Any]]:
        length = max(PART, -(-size // _MOST_PARTS))
        with contextlib.closing(CallThreads(_THREADS)) as threads:
            calls = [
                threads.submit(partial(self._upload_part, own, descriptor, number, at, length))
                for number, at in enumerate(range(0, size, length), 1)
            ]
            return [call.result() for call in calls]

    def _upload_part(
        self, own: dict[str, str], descriptor: int, number: int, offset: int, length: int
    ) -> dict[str, Any]:
        data = os.pread(descriptor, length, offset)
        answer = self._client.upload_part(**own, PartNumber=number, Body=data, **self._checksum(data))
        return {"PartNumber": number, "ETag": answer["ETag"]}

    def _checksum(self, data: bytes) -> dict[str, str]:
        """A checksum of the request, which S3 demands for an object with a lock."""
        if not self._lock:
            return {}
        return {"ContentMD5": b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()}

    def _abort(self, own: dict[str, str]) -> None:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - as above

        with contextlib.suppress(BotoCoreError, ClientError):  # `prune` aborts what is left
            self._client.abort_multipart_upload(**own)

    def locked_until(self, url: ObjectUrl) -> datetime | None:
        """When the lock of an object ends; None if it has none, or if these credentials may not see it.

        S3 hides a locked object that is deleted, and says nothing; its bytes stay.
        """
        with _failures(url):
            until = self._client.head_object(Bucket=url.bucket, Key=url.key).get("ObjectLockRetainUntilDate")
            return until if isinstance(until, datetime) and until > datetime.now(UTC) else None
        return None

    def dead_uploads(self, folder: ObjectUrl) -> Iterator[tuple[ObjectUrl, str]]:
        """The uploads in parts below a folder, to where an archive can be, that began long ago, with their ids."""
        limit = datetime.now(UTC) - DEAD_AFTER
        prefix = f"{folder.key}/" if folder.key else ""
        with _failures(folder):
            pages = self._client.get_paginator("list_multipart_uploads")
            for page in pages.paginate(Bucket=folder.bucket, Prefix=prefix):
                for upload in page.get("Uploads", ()):
                    if upload["Initiated"] < limit and is_archive_place(upload["Key"]):
                        yield folder._replace(key=upload["Key"]), upload["UploadId"]

    def abort(self, url: ObjectUrl, upload: str) -> None:
        """Abort an upload in parts, by its id."""
        self._abort({"Bucket": url.bucket, "Key": url.key, "UploadId": upload})

    def list(self, folder: ObjectUrl, after: str) -> Iterator[ObjectState]:
        """The objects below a folder whose keys come after one, whatever their names are."""
        prefix = f"{folder.key}/" if folder.key else ""
        with _failures(folder, "list"):
            pages = self._client.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=folder.bucket, Prefix=prefix, StartAfter=after):
                for item in page.get("Contents", ()):
                    url = folder._replace(key=item["Key"])
                    yield ObjectState(url, item["Size"], item.get("ETag"), item["LastModified"])


class _Outcome:
    """Whether an object was created."""

    is_created = True


@contextlib.contextmanager
def _failures(url: ObjectUrl, doing: str = "write") -> Iterator[_Outcome]:
    """Turn errors of boto3 into our own; an object that exists already is an outcome, and no error."""
    try:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - as above
    except ImportError:
        raise _no_boto3() from None
    outcome = _Outcome()
    try:
        yield outcome
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        if code not in _EXISTS:
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            raise server_failure(url, doing, code if code.isalnum() else None, status) from None
        outcome.is_created = False
    except BotoCoreError:
        raise server_failure(url, doing, None, None) from None
