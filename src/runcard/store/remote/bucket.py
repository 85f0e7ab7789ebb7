"""Reading and writing objects: the only module that calls `obstore`.

Invariant: an error of the storage library is never passed on with its text, which can have parts of a request in it. Of
the server's answer only the error code is repeated.
"""

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from runcard.errors import MachineError, RuncardError, StoreError
from runcard.extras import missing_package
from runcard.files import printable, shell_word
from runcard.store.remote.urls import ObjectUrl

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult
    from obstore.store import ObjectStore

# An attribute of an archive and of what is beside it: it says that runcard made them, and tells the uploads of two hosts
# apart. Azure takes no hyphen.
UPLOAD_ID = "runcardupload"
_CODE = re.compile(r"<Code>(\w{1,64})</Code>")
_BAD_NAME = re.compile(r'Path "(.{1,1024}?)"(?: contained|: Encountered)', re.DOTALL)
_STATUS = re.compile(r"status code: (\d{3})")
_RETRIES = 6
_CREATE_ATTEMPTS = 3
_ENDPOINTS = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}
_SIGN_IN = "renew the credentials in the environment, or sign in again with the tool of your provider"
_MEANINGS = {
    "ExpiredToken": ("the credentials have expired", _SIGN_IN),
    "ExpiredTokenException": ("the credentials have expired", _SIGN_IN),
    "InvalidAccessKeyId": ("the access key does not exist", _SIGN_IN),
    "SignatureDoesNotMatch": ("the credentials are wrong", _SIGN_IN),
    "RequestTimeTooSkewed": ("the clock of this machine is wrong", "set the clock, then try again"),
    "NoSuchBucket": (
        "the bucket does not exist",
        "check the URL; a bucket that was deleted lost its archives",
    ),
    "AccessDenied": ("access denied", "check what these credentials may do in this bucket"),
    "InvalidRange": (
        "the object is shorter than its index says",
        "see all that is wrong with it: runcard verify {url}",
    ),
    "MethodNotAllowed": ("the object is protected", "it can be deleted when its retention has ended"),
    "SlowDown": ("the server asks for fewer requests", "try again later"),
    "ServiceUnavailable": ("the server is not available", "try again later"),
    "InternalError": ("the server failed", "try again later"),
}
_SAME = {  # codes of Azure
    "ContainerNotFound": "NoSuchBucket",
    "AuthenticationFailed": "SignatureDoesNotMatch",
    "AuthorizationFailure": "AccessDenied",
    "ServerBusy": "SlowDown",
}
_BY_STATUS = {401: "AccessDenied", 403: "AccessDenied", 500: "InternalError", 503: "ServiceUnavailable"}


class ObjectState(NamedTuple):
    """An object, without its bytes."""

    url: ObjectUrl
    size: int
    etag: str | None
    modified: datetime  # by the server's clock


class ChangedObjectError(StoreError):
    """An object was replaced or removed while it was read."""


class InvalidNameError(StoreError):
    """An object has a name that the storage library refuses."""


class NoAnswerError(MachineError):
    """The server did not answer: whether it did what it was asked for is not known."""


class Bucket:
    """The objects of one bucket; every method takes the URL of an object in it."""

    def __init__(self, store: "ObjectStore") -> None:
        self._store = store

    def read(self, url: ObjectUrl) -> bytes | None:
        """All of a small object; None when there is none."""
        result = self.get(url)
        if result is None:
            return None
        with _failures(url, "read"):
            return bytes(result.bytes())

    def get(
        self, url: ObjectUrl, span: tuple[int, int] | None = None, etag: str | None = None
    ) -> "GetResult | None":
        """An object, or a part of it, to be read; None when there is none. With `etag`, it must be the same as before."""
        import obstore  # noqa: PLC0415 - only for URLs

        options: GetOptions = {}
        if span is not None:
            options["range"] = span
        if etag is not None:
            options["if_match"] = etag
        with _missing(), _failures(url, "read"):
            return obstore.get(self._store, url.key, options=options)
        return None

    def chunks(self, url: ObjectUrl, result: "GetResult", size: int) -> Iterator[bytes]:
        """The bytes of an object as they come, about so many at a time."""
        stream = iter(result.stream(min_chunk_size=size))
        while True:
            with _failures(url, "read"):
                chunk = next(stream, None)
            if chunk is None:
                return
            yield bytes(chunk)

    def state(self, url: ObjectUrl) -> ObjectState | None:
        """An object's size and version; None when there is none."""
        import obstore  # noqa: PLC0415 - only for URLs

        with _missing(), _failures(url, "look at"):
            return _state(url, obstore.head(self._store, url.key))
        return None

    def create(self, url: ObjectUrl, data: bytes, attributes: dict[str, str] | None = None) -> bool:
        """Create an object; False when there is one already."""
        import obstore  # noqa: PLC0415 - only for URLs
        from obstore.exceptions import AlreadyExistsError, PreconditionError  # noqa: PLC0415

        for attempt in range(1, _CREATE_ATTEMPTS + 1):  # the library does not repeat such a request
            try:
                with _failures(url, "write", AlreadyExistsError, PreconditionError):
                    obstore.put(self._store, url.key, data, mode="create", attributes=attributes)
            except (AlreadyExistsError, PreconditionError):
                return attempt > 1 and self._is_own(url, data, attributes)
            except NoAnswerError:
                if attempt == _CREATE_ATTEMPTS:
                    raise
            else:
                return True
        return False

    def _is_own(self, url: ObjectUrl, data: bytes, attributes: dict[str, str] | None) -> bool:
        """Whether an object is the one that we created, when the answer to that was lost."""
        if attributes is not None:
            return self.upload_id(url) == attributes.get(UPLOAD_ID)
        return self.read(url) == data

    def upload_id(self, url: ObjectUrl) -> str | None:
        """The id of the upload that made an object; None for an object without one, or no object."""
        result = self.get(url, (0, 1))
        return None if result is None else result.attributes.get(UPLOAD_ID)

    def write(self, url: ObjectUrl, data: bytes, attributes: dict[str, str] | None = None) -> None:
        """Write a small object, in the place of another one."""
        import obstore  # noqa: PLC0415 - only for URLs

        with _failures(url, "write"):
            obstore.put(self._store, url.key, data, attributes=attributes, use_multipart=False)

    def upload(self, url: ObjectUrl, file: Any, attributes: dict[str, str], chunk: int) -> None:  # noqa: ANN401 - a file
        """Write a large object from an open file, in parts."""
        import obstore  # noqa: PLC0415 - only for URLs

        with _failures(url, "write"):
            obstore.put(
                self._store, url.key, file, attributes=attributes, chunk_size=chunk, use_multipart=True
            )

    def copy(self, source: ObjectUrl, target: ObjectUrl) -> bool:
        """Copy an object inside the bucket; False when the target exists."""
        import obstore  # noqa: PLC0415 - only for URLs
        from obstore.exceptions import AlreadyExistsError, PreconditionError  # noqa: PLC0415

        try:
            with _failures(target, "write", AlreadyExistsError, PreconditionError):
                obstore.copy(self._store, source.key, target.key, overwrite=False)
        except (AlreadyExistsError, PreconditionError):
            return False
        return True

    def delete(self, urls: Iterable[ObjectUrl]) -> None:
        """Delete objects, one after the other; those that are gone already do no harm."""
        import obstore  # noqa: PLC0415 - only for URLs

        for url in urls:
            with _missing(), _failures(url, "delete"):
                obstore.delete(self._store, url.key)

    def list(self, folder: ObjectUrl, after: ObjectUrl | None = None) -> Iterator[ObjectState]:
        """The objects below a folder, in the order of their names; those behind the name of one, if it is given."""
        last = after.key if after else ""
        try:
            for state in self._list(folder, last):
                last = state.url.key
                yield state
        except InvalidNameError:
            if folder.scheme != "s3":
                raise
            # The library refuses all objects of an answer that has a name with a control character, `.` or `..`.
            from runcard.store.remote.s3_writer import S3Writer  # noqa: PLC0415 - it imports this module

            yield from S3Writer().list(folder, last)

    def _list(self, folder: ObjectUrl, after: str) -> Iterator[ObjectState]:
        import obstore  # noqa: PLC0415 - only for URLs

        with _failures(folder, "list"):
            for batch in obstore.list(self._store, prefix=folder.key or None, offset=after or None):
                for meta in batch:
                    yield _state(folder._replace(key=meta["path"]), meta)


def bucket_of(url: ObjectUrl) -> Bucket:
    """The bucket that an object is in."""
    return Bucket(_open(url.scheme, url.bucket, _environment()))


def _environment() -> tuple[tuple[str, str], ...]:
    """What a connection depends on: a test, or a long-running server, can change it."""
    own = ("AWS_", "GOOGLE_", "AZURE_")
    return tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith(own)))


@lru_cache(maxsize=8)  # a connection is kept open for many objects
def _open(scheme: str, bucket: str, _: tuple[tuple[str, str], ...]) -> "ObjectStore":
    try:
        from obstore.exceptions import BaseError  # noqa: PLC0415 - only for URLs
        from obstore.store import from_url  # noqa: PLC0415
    except ImportError:
        raise missing_package("object storage needs", "obstore", "s3") from None
    endpoints = (os.environ.get(name, "") for name in _ENDPOINTS.get(scheme, ()))
    is_plain_http = any(endpoint.startswith("http://") for endpoint in endpoints)
    more: dict[str, Any] = {"credential_provider": _profile()} if scheme == "s3" and _needs_profile() else {}
    try:
        return from_url(
            f"{scheme}://{bucket}",
            client_options={
                "timeout": timedelta(hours=6),  # of one request, with all of its bytes
                "read_timeout": timedelta(seconds=60),
                "connect_timeout": timedelta(seconds=10),
                **({"allow_http": True} if is_plain_http else {}),
            },
            retry_config={
                "max_retries": _RETRIES,
                "retry_timeout": timedelta(seconds=60),
                "backoff": {
                    "init_backoff": timedelta(milliseconds=100),
                    "max_backoff": timedelta(seconds=10),
                    "base": 2,
                },
            },
            **more,
        )
    except (BaseError, ValueError) as error:
        raise _failure(error, ObjectUrl(scheme, bucket, ""), "open") from None


def _needs_profile() -> bool:
    """Whether the credentials of S3 are in the files of AWS's own tools."""
    if os.environ.get("AWS_ACCESS_KEY_ID") or os.environ.get("AWS_SKIP_SIGNATURE"):
        return False
    files = [
        os.environ.get("AWS_SHARED_CREDENTIALS_FILE") or os.path.expanduser("~/.aws/credentials"),
        os.environ.get("AWS_CONFIG_FILE") or os.path.expanduser("~/.aws/config"),
    ]
    return bool(os.environ.get("AWS_PROFILE")) or any(map(os.path.isfile, files))


def _profile() -> Any:  # noqa: ANN401 - a provider of obstore
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - only where it is needed
    from obstore.auth.boto3 import Boto3CredentialProvider  # noqa: PLC0415

    try:
        return Boto3CredentialProvider()
    except (BotoCoreError, ValueError):
        raise MachineError("the AWS profile has no usable credentials", hint=_SIGN_IN) from None


def _state(url: ObjectUrl, meta: Any) -> ObjectState:  # noqa: ANN401 - a typed dict of obstore
    return ObjectState(url, meta["size"], meta["e_tag"], meta["last_modified"])


class NoObjectError(StoreError):
    """There is no such object, or no such bucket."""


@contextlib.contextmanager
def _missing() -> Iterator[None]:
    """Pass over an object that is missing."""
    with contextlib.suppress(NoObjectError):
        yield


@contextlib.contextmanager
def _failures(url: ObjectUrl, doing: str, *passed: type[Exception]) -> Iterator[None]:
    """Turn errors of the storage library into our own, except those that are `passed` on."""
    from obstore.exceptions import BaseError  # noqa: PLC0415 - only for URLs

    try:
        yield
    except passed:
        raise
    except FileNotFoundError as error:
        if doing == "write" or any(code in str(error) for code in ("NoSuchBucket", "ContainerNotFound")):
            raise server_failure(url, doing, "NoSuchBucket", None) from None
        raise NoObjectError(f"{printable(str(url))} does not exist", hint="check the URL") from None
    except (BaseError, OSError, ValueError) as error:
        raise _failure(error, url, doing) from None


def _failure(error: Exception, url: ObjectUrl, doing: str) -> RuncardError:
    """The error to raise about an object; of the original one, only the server's code is kept."""
    from obstore.exceptions import InvalidPathError, PreconditionError  # noqa: PLC0415 - only for URLs

    if isinstance(error, InvalidPathError):
        name = _BAD_NAME.search(str(error))
        return InvalidNameError(
            f"cannot {doing} {printable(str(url))}: an object has an invalid name: {printable(name[1]) if name else 'unknown'}",
            hint="no archive of runcard has such a name: rename the object, or delete it",
        )
    if isinstance(error, PreconditionError):
        return ChangedObjectError(
            f"{printable(str(url))} was replaced while it was read",
            hint=f"verify it: runcard verify {shell_word(str(url))}",
        )
    text = str(error)
    code, status = _CODE.search(text), _STATUS.search(text)
    return server_failure(url, doing, code[1] if code else None, int(status[1]) if status else None)


def server_failure(url: ObjectUrl, doing: str, code: str | None, status: int | None) -> RuncardError:
    """The error for an error code of the server, or without one for a server that does not answer."""
    code = _SAME.get(code or "", code)
    known = _MEANINGS.get(code or "") or _MEANINGS.get(_BY_STATUS.get(status or 0, ""))
    if known is not None:
        reason, hint = known
    elif code or status:
        reason, hint = f"the server answered {code or status}", "check the URL and the settings of the bucket"
    else:
        reason, hint = (
            "no answer from the server, or no credentials",
            "check the network, the URL and the credentials in the environment",
        )
    hint = hint.format(url=shell_word(str(url)))
    kind = StoreError if code == "NoSuchBucket" else MachineError if code or status else NoAnswerError
    return kind(f"cannot {doing} {printable(str(url))}: {reason}", hint=hint)
