"""How to cite a record: `CITATION.cff` (Citation File Format 1.2.0) and BibTeX.

Names are hostile text: nothing in them can end a value or become a command of TeX.
"""

import re
from collections.abc import Sequence
from typing import Final

from runcard.encoding.yaml.writer import encode_yaml
from runcard.interop.license_url import license_url
from runcard.interop.record_content import RecordContent, section, text, without_none

ANONYMOUS: Final = "anonymous"  # the author of a work whose author is not known

_MESSAGE = "If you use the results of this {kind}, please cite it as below."
_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    '"': r"\textquotedbl{}",
    "{": r"\textbraceleft{}",  # BibTeX counts braces, also those after a backslash
    "}": r"\textbraceright{}",
    **{character: f"\\{character}" for character in "$&#_%"},
}
_NOT_IN_KEY = re.compile(r"[^A-Za-z0-9:._-]+")
_BLANK = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029]+")
_INVISIBLE = re.compile("[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufffe\uffff]")
_COMMIT = re.compile("[0-9a-f]{7,64}")


def one_line(value: str) -> str:
    """A text on one line, without invisible characters."""
    return _INVISIBLE.sub("", _BLANK.sub(" ", value)).strip()


def citation_file(
    content: RecordContent, authors: Sequence[str] = (), license_name: str | None = None
) -> bytes:
    """The `CITATION.cff` of a record."""
    names = [name for author in authors if (name := one_line(author))]
    identifiers = [
        {"type": "other", "value": content.id, "description": f"The id of the {content.kind}"},
        {
            "type": "other",
            "value": f"sha256:{content.metadata.sha256}",
            "description": "The digest of its metadata document, which fixes all its files",
        },
    ]
    keywords = [*dict.fromkeys(one_line(model.name) for model in content.models)]
    fields = without_none(
        {
            "cff-version": "1.2.0",
            "message": _MESSAGE.format(kind=content.kind),
            "type": "dataset",
            "title": one_line(content.title),
            "abstract": _abstract(content),
            "authors": [{"name": name} for name in names or [ANONYMOUS]],
            "identifiers": identifiers,
            "keywords": [word for word in keywords if word] or None,
            "commit": _commit(content),
            "date-released": _date(content),
            "license-url": license_url(license_name) if license_name else None,
        }
    )
    return encode_yaml(fields)


def bibtex_entry(content: RecordContent, authors: Sequence[str] = ()) -> str:
    """The entry of a record in a BibTeX file."""
    names = [name for author in authors if (name := one_line(author))]
    date = _date(content)
    fields = without_none(
        {
            "title": f"{{{_tex(one_line(content.title))}}}",
            "author": " and ".join(f"{{{_tex(name)}}}" for name in names or [ANONYMOUS]),
            "year": date and date[:4],
            "month": date and str(int(date[5:7])),
            "howpublished": f"Record of runcard, {content.kind} {_tex(one_line(content.id))}",
            "note": f"{_tex(_abstract(content))} SHA-256 of its metadata: {content.metadata.sha256}",
        }
    )
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    key = _NOT_IN_KEY.sub("-", content.id).strip("-") or content.metadata.sha256[:16]
    return "\n".join([f"@misc{{{key},", *lines, "}", ""])


def _tex(value: str) -> str:
    return "".join(_TEX.get(character, character) for character in value)


def _abstract(content: RecordContent) -> str:
    models = ", ".join(one_line(model.name) for model in content.models)
    made = f"made with {models}" if models else "of unknown models"
    status = f" Status: {content.status}." if content.status else ""
    return f"A {content.kind} of AI models, {made}.{status}"


def _date(content: RecordContent) -> str | None:
    """The day of its end, or else of its start."""
    moment = content.ended or content.started
    return None if moment is None else moment.date().isoformat()


def _commit(content: RecordContent) -> str | None:
    commit = text(section(section(content.document, "environment"), "git").get("commit"))
    return commit if commit and _COMMIT.fullmatch(commit) else None
