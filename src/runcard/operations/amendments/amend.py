"""Adding remarks to a closed record: notes, tags, evaluations and approvals, about the very bytes that it has."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from runcard.encoding import JsonObject, decode_json
from runcard.errors import EncodingError, StoreError, UsageError
from runcard.files import check_relative, json_name, printable, shell_word
from runcard.masking import mask_data, mask_text
from runcard.observe.clock import Clock
from runcard.observe.user_and_host import user_and_host
from runcard.operations.amendments.change_record import change_record, damage_warnings
from runcard.recording.record_signature import sign_amended
from runcard.settings.apply import use_masking_settings
from runcard.store import layout
from runcard.store.amendments.change import Amender, Author, amending
from runcard.store.amendments.read import APPROVAL, EVALUATION, NOTE, TAG, Remark
from runcard.store.find_record import open_record

KINDS = (NOTE, TAG, EVALUATION, APPROVAL)

_VALUES = {
    NOTE: ("text", "'checked by hand'"),
    TAG: ("name", "reviewed"),
    EVALUATION: ("value", "accuracy=0.93"),
}  # what each is called, and an example

_LONGEST = 64 * 1024  # characters of a remark; more belongs in a file


@dataclass(frozen=True, slots=True)
class Amended:
    """A remark that stands in a record now."""

    path: str
    remark: Remark
    finished: tuple[str, ...]  # files of an earlier amendment that was killed
    warnings: tuple[str, ...]

    def to_dict(self) -> JsonObject:
        return {
            "record": printable(self.path),
            "amendment": self.remark.to_dict(),
            "finished": [json_name(path).text for path in self.finished],
            "warnings": list(self.warnings),
        }


def amend(
    record: str | os.PathLike[str],
    kind: str,
    value: str | None = None,
    *,
    comment: str | None = None,
    about: Sequence[str] = (),
    by: str | None = None,
    accept: bool = False,
) -> Amended:
    """Add a remark to a closed record, archived or not: a note (its text), a tag (its name), an evaluation
    (`NAME=VALUE`), an approval.

    It is about all that the record has, by the digest of its SHA256SUMS, or about the files that `about` names. With
    `accept`, the ledger of the store also gets amendments that it does not know, such as those made in a copy.
    """
    use_masking_settings()
    fields = _fields(os.fspath(record), kind, value)
    text = None if comment is None else mask_text(comment).value
    who = mask_text(by or user_and_host()).value
    if sum(len(str(part)) for part in (value, comment, by)) > _LONGEST:
        raise UsageError(
            f"a remark can have at most {_LONGEST:,} characters", hint="keep a longer text in a file"
        )
    source = open_record(record)

    def add(directory: str) -> Amended:
        with amending(directory, accept=accept) as amender:
            author = Author(who, Clock().timestamp(), text)
            payload = {**fields, "about": [_about(amender, name) for name in about] or [_everything(amender)]}
            amender.remark(kind, payload, author)
            remark = Remark(kind, {**author.to_dict(), **payload})
        warnings = (*amender.remarks, *sign_amended(directory, amender.added))
        return Amended(source.path, remark, amender.finished, warnings)

    warnings = damage_warnings(source)
    done = change_record(source, add)
    if done.finished:  # until then, an interrupted amendment looked like damage
        warnings = damage_warnings(source)
    return replace(done, warnings=(*warnings, *done.warnings))


def _fields(record: str, kind: str, value: str | None) -> JsonObject:
    if kind not in KINDS:
        raise UsageError(f"no such amendment: {printable(kind)}", hint=f"one of {', '.join(KINDS)}")
    if kind == APPROVAL:
        return {} if value is None else {"approved_by": mask_text(value).value}
    if value is None or not value.strip():
        part, example = _VALUES[kind]
        raise UsageError(
            f"the {part} of the {kind} is missing",
            hint=f"for example: runcard amend {shell_word(record)} {kind} {example}",
        )
    if kind == EVALUATION:
        return _evaluation(value)
    return {"text" if kind == NOTE else "tag": mask_text(value).value}


def _evaluation(value: str) -> JsonObject:
    name, equals, score = value.partition("=")
    if not equals or not name.strip():
        raise UsageError(
            f"{printable(value)!r} is not an evaluation", hint="write it as NAME=VALUE, such as accuracy=0.93"
        )
    try:
        score_value: Any = decode_json(score.encode("utf-8", "surrogateescape"))
    except EncodingError:
        score_value = score
    masked: JsonObject = mask_data({name.strip(): score_value}).value
    ((name, score_value),) = masked.items()
    return {"name": name, "value": score_value}


def _everything(amender: Amender) -> dict[str, str]:
    """All files of the record, by the digest that its document states."""
    return {"path": layout.CHECKSUMS, "digest": amender.listing_digest}


def _about(amender: Amender, path: str) -> dict[str, str]:
    name = path.removeprefix("./")
    reason = check_relative(name)
    if reason or name not in amender.listing:
        raise StoreError(
            f"the record lists no file {printable(path)}" + (f": {reason}" if reason else ""),
            hint=f"name a file as {layout.CHECKSUMS} does",
        )
    expected, now = amender.expected(name), amender.files.digest(name)
    if expected is None or now != expected:
        reason = "was taken out" if expected is None else "is not what it was"
        raise StoreError(
            f"{printable(path)} {reason}", hint=f"see all of it: runcard verify {shell_word(amender.path)}"
        )
    return {"path": json_name(name).text, "digest": f"sha256:{expected}"}
