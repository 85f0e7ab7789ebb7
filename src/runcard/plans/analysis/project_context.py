"""The project around a method: its models and factories, and the level on which the method is tested."""

import os
import re
from collections.abc import Iterable

from runcard.encoding import JsonObject
from runcard.encoding.frozen_data import freeze, thaw
from runcard.errors import RuncardError
from runcard.files import resolve_below
from runcard.plans.analysis.declared_values import Declarations, DeclarationSource, read_declarations
from runcard.plans.analysis.method_source import Method, superclass_of
from runcard.plans.analysis.target_factories import TargetFactories
from runcard.plans.analysis.vocabulary import OWN_ACTIONS
from runcard.plans.project import Project
from runcard.plans.ruby.factories import Factories, read_factories
from runcard.plans.ruby.literals import Literals
from runcard.plans.ruby.rails import camelize, underscore
from runcard.plans.ruby.source_text import read_source
from runcard.plans.ruby.syntax_tree import METHODS, Code, Node, descendants, field_of, read_code

_RECORDS = {"ApplicationRecord", "ActiveRecord::Base"}
_CONTROLLER = re.compile(r"(?:^|/)app/controllers/")
_POLICY = re.compile(r"(?:^|/)app/policies/")
_MODEL = re.compile(r"(?:^|/)app/models/")
# Class methods that only models have, and methods that write to the database.
_QUERIES = {
    "find",
    "find_by",
    "find_by!",
    "where",
    "all",
    "find_each",
    "find_or_create_by",
    "find_or_initialize_by",
    "find_or_create_by!",
    "first_or_create",
    "pluck",
    "joins",
    "includes",
    "create",
    "create!",
    "insert_all",
}
_WRITES = {
    "save",
    "save!",
    "update",
    "update!",
    "create!",
    "destroy",
    "destroy!",
    "update_columns",
    "update_column",
    "update_all",
    "delete_all",
    "transaction",
    "with_lock",
    "increment!",
    "decrement!",
    "toggle!",
    "touch",
}
_NAMES = {"identifier", "instance_variable"}


class Models(DeclarationSource):
    """The models of a project, read on demand."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: dict[str, Declarations] = {}
        self._paths: dict[str, str | None] = {}

    def declarations(self, variable: str) -> Declarations:
        """The declarations of the model that a variable is named after: `@order` and `cart.order` are an `Order`."""
        name = camelize(variable.rpartition(".")[2].lstrip("@"))
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]

    def has(self, class_name: str) -> bool:
        return self._path(class_name) is not None

    def _path(self, class_name: str) -> str | None:
        if class_name not in self._paths:
            self._paths[class_name] = self._find(class_name)
        return self._paths[class_name]

    def _find(self, class_name: str) -> str | None:
        if not re.fullmatch(r"[\w:]+", class_name):
            return None
        try:
            path = resolve_below(self._root, f"app/models/{underscore(class_name)}.rb")
        except (RuncardError, OSError):
            return None
        return path if os.path.isfile(path) else None

    def _read(self, class_name: str) -> Declarations:
        path = self._path(class_name)
        if path is None:
            return Declarations()
        try:
            code, _ = read_code(read_source(path))
        except RuncardError:
            return Declarations()
        literals = Literals(code)
        remember_constants(code, literals)
        return read_declarations(code, _class_body(code, class_name), literals)


class ProjectFiles:
    """The models and the factories of projects, each read once.

    It does not notice that a file changes, so it is for one command: the next one makes a new one.
    """

    def __init__(self) -> None:
        self._models: dict[str, Models] = {}
        self._factories: dict[Project, Factories] = {}
        self._frozen: dict[Project, bytes | None] = {}
        self._of_targets: dict[Project, TargetFactories] = {}

    def models(self, project: Project) -> Models:
        if project.root not in self._models:
            self._models[project.root] = Models(project.root)
        return self._models[project.root]

    def factories(self, project: Project) -> Factories:
        """All factories of a project; none of a directory that is not a project."""
        if project not in self._factories:
            root = project.root
            self._factories[project] = read_factories(root, root) if project.is_marked else Factories(root)
        return self._factories[project]

    def target_factories(self, project: Project) -> TargetFactories:
        """Tells which of the factories belong to a target."""
        if project not in self._of_targets:
            self._of_targets[project] = TargetFactories(self.factories(project))
        return self._of_targets[project]

    def factories_detected(self, project: Project) -> JsonObject:
        """The section of that name of a plan, with all factories; a copy for each plan."""
        if project not in self._frozen:
            self._frozen[project] = freeze(self.factories(project).to_dict())
        frozen = self._frozen[project]
        section: JsonObject = self.factories(project).to_dict() if frozen is None else thaw(frozen)
        return section


def policy_names(file: str, class_name: str) -> frozenset[str]:
    """The variables that a policy is about: the user and the record that it is named after."""
    last = class_name.rpartition("::")[2]
    if not _POLICY.search(file) or not last.endswith("Policy"):
        return frozenset()
    return frozenset({"user", underscore(last.removesuffix("Policy"))} - {""})


def remember_constants(code: Code, literals: Literals) -> None:
    """Record the values of the constants of a file."""
    for node in descendants(code.root, METHODS | {"assignment"}):
        left, right = field_of(node, "left"), field_of(node, "right")
        is_constant = left is not None and left.type in {"constant", "scope_resolution"}
        if node.type == "assignment" and is_constant and left is not None and right is not None:
            literals.remember(code.text_of(left).rpartition("::")[2], right)


def _class_body(code: Code, class_name: str) -> Node | None:
    """The body of a class, anywhere in a file."""
    last = class_name.rpartition("::")[2]
    for node in descendants(code.root):
        name = field_of(node, "name") if node.type == "class" else None
        if name is not None and code.text_of(name).rpartition("::")[2] == last:
            return field_of(node, "body")
    return None


class TestLevel:
    """Whether a method uses models, and its test level: unit, integration or request."""

    def __init__(
        self,
        code: Code,
        file: str,
        method: Method,
        models: Models,
        factories: set[str],
        others: Iterable[str] = (),  # names of variables that its class works with
    ) -> None:
        self._code, self._models, self._factories = code, models, factories
        inside = list(descendants(method.node))
        self._called = _called_names(code, inside)
        self._is_record = superclass_of(code, method) in _RECORDS or bool(_MODEL.search(file))
        self._is_controller = bool(_CONTROLLER.search(file)) or superclass_of(code, method).endswith(
            "Controller"
        )
        self.uses_models = (
            self._is_record or self._mentions_models(inside) or any(map(self._is_model, others))
        )

    @property
    def test_level(self) -> str:
        if self._is_controller:
            return "request"
        if self._is_record:
            return "integration" if self._called & _WRITES else "unit"
        return "integration" if self.uses_models else "unit"

    def _mentions_models(self, inside: list[Node]) -> bool:
        text_of = self._code.text_of
        for node in inside:
            kind = node.type
            if kind in _NAMES and self._is_model(text_of(node).lstrip("@")):
                return True
            if kind == "constant" and self._models.has(text_of(node)):
                return True
            if (
                (
                    kind == "call"
                    and (receiver := field_of(node, "receiver"))
                    and (name := field_of(node, "method"))
                )
                and receiver.type in {"constant", "scope_resolution"}
                and text_of(name) in _QUERIES | _WRITES
            ):
                return text_of(receiver) not in _LIBRARIES
        return False

    def _is_model(self, variable: str) -> bool:
        return variable in self._factories or self._models.has(camelize(variable))


_LIBRARIES = {
    "Dir",
    "File",
    "Hash",
    "Array",
    "Find",
    "Set",
    "Struct",
    "IO",
    "ENV",
    "Time",
    "Date",
    "SecureRandom",
}


def _called_names(code: Code, inside: list[Node]) -> set[str]:
    """The names of all methods that these nodes call; of bare words, only those that are surely calls."""
    calls = [field_of(node, "method") for node in inside if node.type == "call"]
    words = {code.text_of(node) for node in inside if node.type == "identifier"}
    return {code.text_of(name) for name in calls if name is not None} | (words & OWN_ACTIONS)
