"""The instance document: one agent's metadata.json, and the rules for its fields."""

import re
from collections.abc import Iterator

from runcard.documents.document import Document
from runcard.documents.exact_sums import whole_sum
from runcard.documents.findings import Finding, display_value, finding
from runcard.documents.kinds import INSTANCE
from runcard.documents.session.model_rules import model_rules
from runcard.documents.session.team import id_form, lifetime_rules, unique
from runcard.documents.times import parse_time
from runcard.encoding import JsonObject

Findings = Iterator[Finding]

_FILE_TYPE = re.compile(r"(\.[^.]+)?", re.DOTALL)
_TIMEZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*", re.ASCII)
_LANGUAGE = re.compile(r"(C|POSIX|[a-z]{2,3}(_[A-Z0-9]{2,3})?)(\.[A-Za-z0-9-]+)?(@[A-Za-z0-9]+)?", re.ASCII)


class Instance(Document):
    """One agent of a team."""

    __slots__ = ()
    kind = INSTANCE
    cost_path = ("cost",)

    @property
    def instance_id(self) -> str:
        return str(self._data["instance_id"])

    @property
    def name(self) -> str:
        return str(self._data["name"])

    @staticmethod
    def rules(document: JsonObject) -> Findings:
        yield from id_form("/instance_id", document.get("instance_id"))
        lifetime = (parse_time(document.get("created_at")), parse_time(document.get("terminated_at")))
        yield from lifetime_rules(document, lifetime, "")
        yield from _relatives(document)
        yield from _workspace(document.get("workspace") or {})
        yield from _environment(document.get("environment") or {})
        yield from model_rules(document, "")


def _relatives(document: JsonObject) -> Findings:
    children = document.get("children_instance_ids") or []
    pointers = [
        (f"/children_instance_ids/{i}", child) for i, child in enumerate(children) if child is not None
    ]
    for pointer, child in pointers:
        yield from id_form(pointer, child)
    yield from unique(pointers, "id.duplicate", "the child")
    instance_id = document.get("instance_id")
    if instance_id is None:
        return
    relatives = [("/parent_instance_id", document.get("parent_instance_id")), *pointers]
    for pointer, relative in relatives:
        if relative == instance_id:
            yield finding(
                "parent.cycle",
                pointer,
                f"a cycle of parents: {display_value(instance_id)} → {display_value(instance_id)}",
                hint="name another instance, or null for a root",
                found=instance_id,
            )


def _workspace(workspace: JsonObject) -> Findings:
    types = workspace.get("file_types") or {}
    for suffix in types:
        if not _FILE_TYPE.fullmatch(suffix) or suffix != suffix.lower():
            yield finding(
                "name.file-type",
                "/workspace/file_types",
                f"{display_value(suffix)} is not a file type",
                hint='write the last suffix in lower case with its dot (".py"), "" for files without one',
                found=suffix,
            )
    count, counted = workspace.get("files_count"), whole_sum(n for n in types.values() if n is not None)
    if count is not None and counted > count:
        yield finding(
            "count.files",
            "/workspace/file_types",
            f"{display_value(counted)} files are counted by type, but files_count is {display_value(count)}",
            hint="count every file once, by its last suffix",
            expected=f"<= {display_value(count)}",
            found=counted,
        )


def _environment(environment: JsonObject) -> Findings:
    for field, form, rule, hint in (
        ("timezone", _TIMEZONE, "name.timezone", "write an IANA name such as Europe/Berlin or UTC"),
        ("language", _LANGUAGE, "name.language", "write a POSIX locale name such as en_US or de_DE.UTF-8"),
    ):
        stated = environment.get(field)
        if stated is not None and not form.fullmatch(stated):
            yield finding(
                rule,
                f"/environment/{field}",
                f"{display_value(stated)} is not a {field} name",
                hint=hint,
                found=stated,
            )
