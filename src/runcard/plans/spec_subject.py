"""How the examples of a spec call a method: its subject and its lets, by the kind of class.

A private method is called through a public one. A module gets a host class, a controller action a request. What the
source does not tell is a placeholder.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from runcard.encoding import JsonObject
from runcard.plans.analysis.phrases import article
from runcard.plans.ruby.definitions import CLASS, INSTANCE, PUBLIC, TOP
from runcard.plans.ruby.method_facts import MethodFacts, PublicCaller
from runcard.plans.ruby.quoting import call, constant
from runcard.plans.ruby.routes import RailsRoute
from runcard.plans.ruby.targets import Parameter
from runcard.plans.spec_kinds import SpecKind

_RESERVED = re.compile(  # not allowed as the name of a let: words of Ruby and RSpec, and methods of every object
    "alias|and|begin|break|case|class|def|do|else|elsif|end|ensure|false|for|if|in|module|next|nil|not|or|redo|rescue|retry"
    "|return|self|super|then|true|undef|unless|until|when|while|yield|__ENCODING__|__FILE__|__LINE__|described_class|expect"
    "|hash|host_class|initialize|instance|is_expected|method|object_id|pending|raise|result|send|skip|subject|to_s"
)
_POLICY_PARAMETERS = (Parameter("user"), Parameter("record"))


@dataclass(frozen=True, slots=True)
class FactoryLet:
    """A let whose value comes from a factory."""

    name: str
    factory: str
    build: str  # the method: `create`, `FactoryBot.build_stubbed`

    def line(self, traits: Sequence[str] = ()) -> str:
        arguments = ", ".join(f":{name}" for name in (self.factory, *traits))
        return f"let(:{self.name}) {{ {self.build}({arguments}) }}"


@dataclass(frozen=True, slots=True)
class KnownFactories:
    """The factories that the lets can use."""

    build: str = ""
    by_name: Mapping[str, str] = field(default_factory=dict)  # factories by names of variables
    by_class: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpecSubject:
    """The lines above the contexts of a method, and what contexts need to know about them."""

    lines: tuple[str, ...]
    type: str | None = None  # of RSpec: model, job, mailer, policy, request
    factories: tuple[FactoryLet, ...] = ()


@dataclass(frozen=True, slots=True)
class SubjectFacts:
    """All that a subject is made from."""

    kind: SpecKind = SpecKind.PLAIN
    method: MethodFacts = field(default_factory=MethodFacts)
    factories: KnownFactories = field(default_factory=KnownFactories)
    routes: Mapping[str, RailsRoute] = field(default_factory=dict)  # of the controller, by action
    host: str | None = None  # a class of the project that includes the module


def subject_of(target: JsonObject, facts: SubjectFacts) -> SpecSubject:
    """The subject of a valid plan's target."""
    builder = _SubjectBuilder(target["class"], facts)
    lines = tuple(builder.lines(target["method"], target["method_type"]))
    return SpecSubject(lines, facts.kind.rspec_type, tuple(builder.factory_lets))


class _SubjectBuilder:
    def __init__(self, class_name: str, facts: SubjectFacts) -> None:
        self._class_name, self._facts, self._method = class_name, facts, facts.method
        self._names: list[str] = []  # of the lets for arguments; the same name is the same argument
        self.factory_lets: list[FactoryLet] = []

    def lines(self, method: str, method_type: str) -> Iterator[str]:
        callee = PublicCaller(method, method_type, tuple(self._method.signature.parameters))
        is_function = self._method.has_class_twin  # by `module_function`
        if is_function:
            callee = PublicCaller(method, CLASS, callee.parameters)
        elif self._method.visibility != PUBLIC:
            yield self._private_comment(method, method_type)
            if not self._method.callers:
                yield f"subject(:result) {{ nil }} # TODO: call a public method that leads to {_signed(method, method_type)}"
                return
            callee = self._nearest_caller()
        if self._facts.kind is SpecKind.REQUEST and callee.method_type == INSTANCE:
            yield from self._request(callee.name)
        else:
            yield from self._call(callee)

    def _nearest_caller(self) -> PublicCaller:
        """The first public method that calls the method; of actions, the first that has a route."""
        callers, routes = self._method.callers, self._facts.routes
        return next((caller for caller in callers if caller.name in routes), callers[0])

    def _private_comment(self, method: str, method_type: str) -> str:
        known = self._method
        name = _signed(method, method_type)
        ways = [_signed(caller.name, caller.method_type) for caller in known.callers]
        text = f"# {name} is {known.visibility}: test it through {_joined_names(ways)}" if ways else ""
        if known.hooks:
            text = (
                f"{text}; run by {_joined_names(known.hooks)}"
                if text
                else f"# {name} is {known.visibility}: run by {_joined_names(known.hooks)}"
            )
        return text or f"# {name} is {known.visibility}: test it through a public method"

    # Calls

    def _call(self, callee: PublicCaller) -> Iterator[str]:
        arguments = self._arguments(callee.parameters)
        setup: list[str] = []
        ending = ""
        name, kind = callee.name, self._facts.kind
        if callee.method_type == INSTANCE and kind is SpecKind.JOB and name == "perform":
            receiver, name = "described_class", "perform_now"
        elif callee.method_type == INSTANCE and kind is SpecKind.MAILER:
            receiver, ending = self._mailer(), ".deliver_now"
        elif callee.method_type == INSTANCE and name == "initialize":
            receiver, name = "described_class", "new"
        elif callee.method_type == INSTANCE and self._class_name == TOP:
            yield from self._function(name, arguments)
            return
        elif callee.method_type == INSTANCE:
            receiver, setup = "instance", self._instance()
        elif self._method.is_for_including_class:
            receiver, setup = "host_class", [self._host_class()]
        else:
            receiver = "described_class"
        yield f"subject(:result) {{ {receiver}{call(name, arguments)}{ending} }}"
        yield from _set_apart((*setup, *self._argument_lets()))

    def _function(self, name: str, arguments: list[str]) -> Iterator[str]:
        """A method outside of any class."""
        yield f"subject(:result) {{ {call(name, arguments).removeprefix('.')} }}"
        yield from _set_apart(self._argument_lets())

    def _mailer(self) -> str:
        if not self._method.reads_params:
            return "described_class"
        self._names.append("params")
        return "described_class.with(params)"

    def _instance(self) -> list[str]:
        """The let of the instance, and what it needs."""
        if self._method.is_module:
            return [
                self._host_class(),
                self._factory_let(self._facts.host) or "let(:instance) { host_class.new }",
            ]
        if self._facts.kind is SpecKind.MODEL and (made := self._factory_let(self._class_name)):
            return [made]
        parameters = self._method.signature.constructor
        if parameters is None:
            parameters = _POLICY_PARAMETERS if self._facts.kind is SpecKind.POLICY else ()
        return [f"let(:instance) {{ described_class{call('new', self._arguments(parameters))} }}"]

    def _factory_let(self, class_name: str | None) -> str | None:
        factory = self._facts.factories.by_class.get(class_name or "")
        return self._with_factory("instance", factory) if factory else None

    def _with_factory(self, name: str, factory: str) -> str:
        self.factory_lets.append(FactoryLet(name, factory, self._facts.factories.build))
        return self.factory_lets[-1].line()

    def _host_class(self) -> str:
        name = constant(self._class_name)
        if self._facts.host is not None:
            return f"let(:host_class) {{ {self._facts.host} }} # includes {self._class_name}"
        base = self._facts.kind.host_base
        if base is None:
            return f"let(:host_class) {{ Class.new {{ include {name} }} }}"
        about = (
            "set the table_name of a table that has what the module needs"
            if base == "ApplicationRecord"
            else "include the module in a controller of the project, if it needs one"
        )
        return f"let(:host_class) {{ Class.new({base}) {{ include {name} }} }} # TODO: {about}"

    # Requests

    def _request(self, action: str) -> Iterator[str]:
        route = self._facts.routes.get(action)
        yield "subject(:result) do"
        if route is None:
            yield f"  get '/', params: params # TODO: request the route to {self._class_name}#{action}"
        else:
            self._names += [name for name in route.parameters if name not in self._names]
            yield f"  {route.verb} {route.path_code}, params: params"
        yield "  response"
        yield "end"
        yield ""
        yield from self._argument_lets()
        yield "let(:params) { {} } # TODO: pass the parameters of the request"

    # Arguments

    def _arguments(self, parameters: Sequence[Parameter]) -> list[str]:
        return [self._argument(parameter) for parameter in parameters]

    def _argument(self, parameter: Parameter) -> str:
        name = parameter.name or f"argument_{len(self._names) + 1}"
        if _RESERVED.fullmatch(name):
            name += "_argument"
        if name not in self._names:
            self._names.append(name)
        return f"{parameter.name}: {name}" if parameter.is_keyword else name

    def _argument_lets(self) -> Iterator[str]:
        for name in self._names:
            factory = self._facts.factories.by_name.get(name)
            value = "{}" if name == "params" else "nil"
            if factory:
                yield self._with_factory(name, factory)
            else:
                yield f"let(:{name}) {{ {value} }} # TODO: pass {article(name.replace('_', ' ').strip() or name)}"


def _set_apart(lines: Iterable[str]) -> list[str]:
    """Lines with a blank one above, if there are any."""
    listed = list(lines)
    return ["", *listed] if listed else []


def _signed(method: str, method_type: str) -> str:
    return f"{'.' if method_type == CLASS else '#'}{method}"


def _joined_names(names: Sequence[str]) -> str:
    return " or ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
