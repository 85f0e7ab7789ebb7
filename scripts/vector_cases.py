"""A case of the test vectors: a record, what was done to it, and what a verifier must find."""

from typing import NamedTuple

from vector_run import DIRECTORY, Fields, Files


class Case(NamedTuple):
    """A record, and the verdict that is expected; the verdict is written by hand, not computed."""

    name: str
    done: str  # what was done to the record
    files: Files
    kinds: str = ""  # of the findings; without `limits`, which depend on the verifier
    intact: bool = True
    complete: bool = True
    signed: bool | None = None
    made: tuple[Fields, ...] = ()  # what Git cannot hold: to be created in a copy of the record
    trust: str = ""  # with the file of signers: "signers", or the names that are required
    timestamped: bool | None = None
    authorities: str = ""  # with the file of authorities: "trusted", or "required"
    kind: str = "run"
    record: str = DIRECTORY  # the path below the folder of the case
    is_untrusted: bool = False  # signed, but by nobody in the file of signers
    is_warning: bool = False  # the finding `signer` is a warning: there is no file of signers

    @property
    def exit_code(self) -> int:
        kinds = set(self.kinds.split())
        warnings = {"open"} | ({"signer"} if self.is_warning else set())
        if kinds - warnings - {"amended", "withheld"}:
            return 1
        return 2 if kinds & warnings else 0

    @property
    def root(self) -> str:
        """The folder of the files, below that of the case."""
        return "." if self.kind == "archive" else self.record

    def entry(self) -> Fields:
        """The entry in the manifest."""
        entry: Fields = {
            "name": self.name,
            "kind": self.kind,
            "path": f"{self.name}/{self.record}",
            "done": self.done,
            "intact": self.intact,
            "complete": self.complete,
            "signed": self.signed,
            "timestamped": self.timestamped,
            "findings": sorted(self.kinds.split()),
            "exit_code": self.exit_code,
        }
        if self.made:
            entry["make"] = list(self.made)
        if self.trust:
            entry["signers"] = "signers"
            entry["require"] = [] if self.trust == "signers" else self.trust.split(",")
            if self.is_untrusted:
                entry["signed_without_signers"] = True
        if self.authorities:
            entry["authorities"] = "authorities.pem"
            entry["require_timestamp"] = self.authorities == "required"
        return entry


def changed(name: str, done: str, files: Files, kinds: str = "changed") -> Case:
    """A record that is not intact."""
    return Case(name, done, files, kinds, intact=False)


def lost(name: str, done: str, files: Files, kinds: str = "missing") -> Case:
    """A record that is not complete."""
    return Case(name, done, files, kinds, complete=False)


def without(files: Files, *paths: str) -> Files:
    return {path: data for path, data in files.items() if path not in paths}


def replaced(files: Files, path: str, old: bytes, new: bytes) -> Files:
    """The files with one place in one of them changed."""
    data = files[path]
    if data.count(old) < 1:
        raise ValueError(f"{path} does not contain {old!r}")
    return {**files, path: data.replace(old, new, 1)}
