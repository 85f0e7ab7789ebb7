"""The skeleton of a plan: what its source, its factories and its project tell, put together."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress

from runcard.errors import RuncardError
from runcard.files import FileKind, read_file, walk
from runcard.plans.factory_traits import factories_of, match_traits, strategy
from runcard.plans.plan import Plan
from runcard.plans.ruby.method_facts import MethodFacts, read_method_facts
from runcard.plans.ruby.quoting import is_symbol, quoted
from runcard.plans.ruby.rails import camelize
from runcard.plans.ruby.routes import read_routes
from runcard.plans.spec_contexts import contexts_of
from runcard.plans.spec_kinds import SpecKind, kind_of
from runcard.plans.spec_layout import max_line_length
from runcard.plans.spec_skeleton import Skeleton, method_name
from runcard.plans.spec_subject import FactoryLet, KnownFactories, SpecSubject, SubjectFacts, subject_of

_SYNTAX = b"Syntax::Methods"  # `config.include FactoryBot::Syntax::Methods`
_CONSTANT = re.compile(r"[A-Z]\w*(?:::[A-Z]\w*)*", re.ASCII)
_MAX_FILES = 5_000
_MAX_SIZE = 1 << 20


class SkeletonBuilder:
    """Builds the skeleton of a plan for a spec at a path."""

    def __init__(self, plan: Plan, *, is_tagged: bool) -> None:
        self._plan, self._is_tagged = plan, is_tagged
        self._data = plan.to_latest()
        self._root = plan.location.project.root
        target = self._data["target"]
        self.target = target
        self._facts = MethodFacts()
        with suppress(RuncardError):
            self._facts = read_method_facts(
                plan.source, self._root, target["class"], target["method"], target["method_type"]
            )

    def skeleton(self) -> Skeleton:
        """The skeleton; raises DocumentError if the plan makes too many contexts."""
        contexts = contexts_of(self._data["characteristics"])
        subject = subject_of(self.target, self._subject_facts())
        return Skeleton(
            *(self.target, contexts, subject, self._is_tagged, dict(self._traits(subject))),
            origins=self._origins(subject),
            width=max_line_length(self._root),
        )

    def order(self) -> list[str]:
        """The methods of the class in the order of the source, as groups name them."""
        return [method_name({"method": name, "method_type": kind}) for name, kind in self._facts.methods]

    def requires(self, spec: str) -> list[str]:
        """What a spec requires: `rails_helper` or `spec_helper` of its project, else its source."""
        folder = os.path.dirname(os.path.abspath(spec))
        tops = [os.path.join(self._root, "spec")]
        parts = os.path.relpath(folder, self._root).split(os.sep)
        if "spec" in parts:  # also of an engine
            tops.insert(0, os.path.join(self._root, *parts[: parts.index("spec") + 1]))
        for name in ("rails_helper", "spec_helper"):
            if any(os.path.isfile(os.path.join(top, f"{name}.rb")) for top in tops):
                return [f"require {quoted(name)}"]
        source = os.path.relpath(os.path.realpath(self._plan.source), os.path.realpath(folder))
        return [f"require_relative {quoted(source.removesuffix('.rb'))}"]

    def _subject_facts(self) -> SubjectFacts:
        facts = self._facts
        kind = kind_of(
            self.target["file"], facts.superclass, is_module=facts.is_module, is_concern=facts.is_concern
        )
        routes = read_routes(self._root).of(self.target["class"]) if kind is SpecKind.REQUEST else {}
        host = self._including_model() if kind is SpecKind.RECORD_CONCERN else None
        return SubjectFacts(kind, facts, self._factories(host), routes, host)

    # Factories

    def _factories(self, host: str | None) -> KnownFactories:
        """The factories of the plan, by the variables and the class that they fit."""
        detected = factories_of(self._data)
        names = [name for name in detected if is_symbol(name)]
        if not names:
            return KnownFactories()
        by_class = {
            class_name: factory
            for class_name in (self.target["class"], self.target["class"].removesuffix("Policy"), host)
            if class_name
            for factory in reversed(names)
            if _builds(factory, detected[factory], class_name)
        }
        build = strategy(self._data)
        prefix = "" if self._has_factory_methods() else "FactoryBot."
        by_name = {name: name for name in names}
        if (record := by_class.get(self.target["class"].removesuffix("Policy"))) and "record" not in by_name:
            by_name["record"] = record  # of a policy
        return KnownFactories(f"{prefix}{build}", by_name, by_class)

    def _has_factory_methods(self) -> bool:
        """Whether `create` and the like can be called without `FactoryBot`."""
        return any(_SYNTAX in text for text in self._texts("spec", r"(?:\w+|support/.+)\.rb"))

    def _traits(self, subject: SpecSubject) -> Iterator[tuple[str, tuple[FactoryLet, str]]]:
        """The trait for each state, by its tag, if the subject has a let of its factory."""
        lets = {known.factory: known for known in reversed(subject.factories)}
        for match in reversed(match_traits(self._data)):
            if match.factory in lets and is_symbol(match.trait):
                yield f"{match.characteristic}:{match.state}", (lets[match.factory], match.trait)

    def _origins(self, subject: SpecSubject) -> dict[str, str]:
        """What the variables of the method are assigned from; else the factories that make the objects."""
        made = {
            known.name: f"{known.build}(:{known.factory}), which has no trait for it"
            for known in subject.factories
        }
        return {**made, **self._facts.assigned}

    # The project

    def _including_model(self) -> str | None:
        """A model of the project that includes the module."""
        name = re.escape(self.target["class"].removeprefix("::").encode())
        includes = re.compile(rb"^\s*include\s+[^#\n]*(?<![\w:])(?:::)?" + name + rb"\b(?!::)", re.MULTILINE)
        for path, text in self._files("app/models", r".+\.rb"):
            model = camelize(path.removesuffix(".rb"))
            if includes.search(text) and not path.startswith("concerns/") and _CONSTANT.fullmatch(model):
                return model
        return None

    def _texts(self, folder: str, pattern: str) -> Iterator[bytes]:
        return (text for _, text in self._files(folder, pattern))

    def _files(self, folder: str, pattern: str) -> Iterator[tuple[str, bytes]]:
        """The files below a folder whose paths match, in order."""
        top = os.path.join(self._root, folder)
        if not os.path.isdir(top):
            return
        for count, entry in enumerate(walk(top, on_error=lambda *_: None)):
            if count == _MAX_FILES:
                return
            if entry.kind is FileKind.FILE and re.fullmatch(pattern, entry.path):
                with suppress(RuncardError):
                    yield entry.path, read_file(os.path.join(top, entry.path), _MAX_SIZE, only_regular=True)


def _builds(factory: str, details: object, class_name: str) -> bool:
    """Whether a factory makes objects of a class, by its name or by what the plan says."""
    given = details.get("class") if isinstance(details, dict) else None
    built = given if isinstance(given, str) else camelize(factory)
    return built.removeprefix("::") in {class_name, class_name.rpartition("::")[2]}
