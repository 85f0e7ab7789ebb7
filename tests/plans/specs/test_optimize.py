"""`runcard plan optimize`: the states of a plan and the traits of its factories."""

import json
from typing import Any

import pytest

from conftest import Cli
from plans.projects import RUBY, SOURCE, RubyProject
from plans.specs.skeletons import Fields, characteristic
from runcard.plans.factory_traits import match_traits, missing_traits
from runcard.plans.ruby.factory_usage import factory_calls, symbols

SPEC = "spec/models/billing/invoice_spec.rb"
OURS = "factory-optimizer: "


def factories(**traits: list[str]) -> Fields:
    return {name: {"file": f"spec/factories/{name}s.rb", "traits": known} for name, known in traits.items()}


def plan(project: RubyProject, characteristics: list[Fields], known: Fields, **changes: Any) -> Fields:
    data = project.plan_of(characteristics=characteristics, factories_detected=known, **changes)
    data["automation"] = {"implementer_completed": True}
    data["target"]["uses_models"] = False
    project.write(data)
    return data


def paid(setup: Fields) -> Fields:
    return characteristic("paid", "binary", ["paid", "unpaid"], setup=setup)


@pytest.mark.parametrize(
    ("trait", "is_match"),
    [
        ("premium", True),
        ("with_premium", True),
        ("premium_customer", True),
        ("customer_type_premium", True),
        ("not_premium", False),
        ("premium_expired", False),
        ("vip", False),
    ],
)
def test_a_trait_matches_by_its_name(trait: str, *, is_match: bool) -> None:
    data = {
        "characteristics": [characteristic("customer_type", "enum", ["regular", "premium"])],
        "factories_detected": factories(user=[trait]),
    }
    assert [match.state for match in match_traits(data)] == ["premium"] * is_match


@pytest.mark.parametrize(
    ("name", "states", "trait", "state"),
    [
        ("middle_name_present", ["present", "absent"], "with_middle_name", "present"),
        ("middle_name_present", ["present", "absent"], "without_middle_name", "absent"),
        ("user_middle_name_present", ["present", "absent"], "with_middle_name", "present"),
        ("middle_name", ["given", "missing"], "with_a_middle_name", "given"),
        ("items_present", ["present", "empty"], "with_items", "present"),
        ("items", ["not_empty", "empty"], "with_items", "not_empty"),
        ("items_empty", ["empty", "not_empty"], "without_items", "empty"),
        ("middle_name_present", ["present", "absent"], "middle_name", None),
        ("middle_name_present", ["present", "absent"], "with_name", None),
        ("middle_name_present", ["present", "absent"], "with_middle_name_expired", None),
        ("middle_name_present", ["present", "absent"], "not_with_middle_name", None),
        ("middle_name_present", ["present", "absent"], "with_without_middle_name", None),
        ("status", ["present", "absent"], "with_items", None),
        ("items_status", ["open", "closed"], "with_items", None),
        ("items_status", ["present", "absent"], "with_items", None),
        ("items_valid", ["valid", "empty"], "with_items", None),
        ("items", ["present", "empty", "absent"], "with_items", None),
        ("items", ["empty", "absent"], "without_items", None),
        ("user_present", ["present", "absent"], "with_user", None),
    ],
)
def test_a_trait_says_that_something_is_there(
    name: str, states: list[str], trait: str, state: str | None
) -> None:
    data = {
        "characteristics": [characteristic(name, "enum", states)],
        "factories_detected": factories(user=[trait]),
    }
    assert [match.state for match in match_traits(data)] == ([state] if state else [])


@pytest.mark.parametrize(
    ("each", "traits", "left"),
    [
        (characteristic("paid", "binary", ["paid", "unpaid"]), [], {"paid": ["unpaid"]}),
        (characteristic("paid", "binary", ["paid", "unpaid"]), ["paid"], {}),
        (characteristic("way", "enum", ["card", "cash", "bank"]), ["with_card"], {"way": ["cash", "bank"]}),
        (
            characteristic("way", "enum", ["card", "cash", "bank"], default="cash"),
            ["with_card"],
            {"way": ["bank"]},
        ),
        (characteristic("call", "binary", ["ok", "failed"], setup={"type": "exception"}), [], {}),
        (paid({"type": "argument", "class": None, "source": "order.paid?"}), [], {"paid": ["unpaid"]}),
        (paid({"type": "argument", "class": None, "source": "gateway.paid?"}), [], {}),
        (paid({"type": "method", "class": None, "source": "paid?(order)"}), [], {}),
        (paid({"type": "model", "class": "Shop::Order", "source": "buyer.x"}), [], {"paid": ["unpaid"]}),
        (paid({"type": "attribute", "class": "Checkout", "source": "@order"}), [], {"paid": ["unpaid"]}),
    ],
)
def test_what_an_object_has_without_a_trait_is_not_missed(
    each: Fields, traits: list[str], left: dict[str, list[str]]
) -> None:
    data = {"characteristics": [each], "factories_detected": factories(order=traits)}
    assert missing_traits(data, match_traits(data)) == left


def test_what_could_be_better_is_told_and_kept_and_nothing_else_changes(
    cli: Cli, project: RubyProject
) -> None:
    before = plan(
        project,
        [
            characteristic("way", "enum", ["card", "cash", "bank"]),
            characteristic("user", "binary", ["present", "absent"]),
        ],
        factories(order=["card", "cash", "old"]),  # :old sets up nothing that the plan names
    )
    project.add(SPEC, b"let(:order) { create(:order, :card) }\nlet(:x) { build_stubbed :order }\n")
    project.add("spec/factories/orders.rb", b"trait :cash\n")
    done = cli("plan", "optimize", project.source, "--json")
    assert done.code == 2
    said = json.loads(done.out)
    assert said["strategy"] == "build_stubbed"
    assert said["missing"] == {"way": ["bank"], "user": ["absent"]}
    assert said["unused"] == [{"factory": "order", "trait": "cash"}]
    assert said["other_strategy"] == [{"line": 1, "strategy": "create", "factory": "order"}]
    assert [(match["state"], match["trait"]) for match in said["matches"]] == [
        ("card", "card"),
        ("cash", "cash"),
    ]
    assert done.err.count("Warning: ") == len(said["warnings"]) == 4
    after = project.read()
    kept = after["automation"].pop("warnings")
    assert after["automation"].pop("factory_optimizer_completed") is True
    assert after == before
    assert kept == [f"{OURS}{text}" for text in said["warnings"]]


def test_a_second_look_replaces_the_warnings_of_the_first(cli: Cli, project: RubyProject) -> None:
    data = plan(project, [characteristic("way", "enum", ["card", "cash", "bank"])], factories(order=["card"]))
    data["automation"]["warnings"] = ["somebody else's", f"{OURS}old news"]
    project.write(data)
    for _ in range(2):
        assert cli("plan", "optimize", project.source).code == 2
        assert project.read()["automation"]["warnings"] == [
            "somebody else's",
            f"{OURS}no trait for way: cash, bank; use attributes, or add traits",
            f"{OURS}no spec uses the trait :card of the factory order",
        ]


def test_tests_that_store_their_objects_use_create(cli: Cli, project: RubyProject) -> None:
    plan(project, [characteristic("user", "binary", ["present", "absent"])], {}, test_level="integration")
    project.add(
        SPEC, b"create(:a)\nFactoryBot.build_stubbed_list(:b, 2)\nUser.create(:c)\nbuild_stubbed(name)\n"
    )
    done = cli("plan", "optimize", project.source)
    assert done.code == 2
    assert done.err.splitlines() == [
        f"Warning: {project.source}: line 2 of the spec: build_stubbed(:b) in a test that should use create"
    ]


def test_objects_of_the_examples_for_other_methods_do_not_matter(cli: Cli, project: RubyProject) -> None:
    plan(project, [characteristic("user", "binary", ["present", "absent"])], {})
    project.add(
        SPEC,
        b"RSpec.describe Billing::Invoice do\n"
        b"  let(:a) { create(:a) }\n"
        b"  describe('#other') { it { create(:b) } }\n"
        b"  describe('#total') { it { create(:c) } }\nend\n",
    )
    done = cli("plan", "optimize", project.source, "--json")
    assert [call["line"] for call in json.loads(done.out)["other_strategy"]] == [2, 4]


def test_nothing_to_do_is_exit_0_and_the_turn_is_the_polishers(cli: Cli, project: RubyProject) -> None:
    plan(project, [characteristic("paid", "binary", ["paid", "unpaid"])], factories(order=["paid"]))
    project.add(SPEC, b"build_stubbed(:order, :paid)\n")
    done = cli("plan", "optimize", project.source)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{project.plan}: build_stubbed\n  paid: paid  order, :paid\n"
    assert cli("plan", "begin", "polisher", project.source).code == 0


def test_factories_and_traits_may_be_symbols_of_ruby(cli: Cli, project: RubyProject) -> None:
    known = {":invoice": {"file": "spec/factories/invoices.rb", "traits": [":paid"]}}
    project.add(SOURCE, RUBY.replace(b"class Invoice", b"class Invoice < ApplicationRecord"))
    plan(project, [characteristic("paid", "binary", ["paid", "unpaid"])], known)
    assert cli("plan", "skeleton", project.source).code in {0, 2}
    assert "FactoryBot.build_stubbed(:invoice, :paid)" in (project.root / SPEC).read_text()
    done = cli("plan", "optimize", project.source)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{project.plan}: build_stubbed\n  paid: paid  invoice, :paid\n"
    assert project.read()["factories_detected"] == known


def test_an_agent_before_its_turn_and_models_without_factories_are_warnings(
    cli: Cli, project: RubyProject
) -> None:
    data = project.plan_of(characteristics=[characteristic("a", "enum", ["b", "c"])], factories_detected={})
    data["target"]["uses_models"] = True
    project.write(data)
    done = cli("plan", "optimize", project.source)
    assert done.code == 2
    assert "the implementer has not reported yet" in done.err
    assert "the method uses models, but the plan has no factories" in done.err


def test_an_invalid_plan_is_refused(cli: Cli, project: RubyProject) -> None:
    project.write(project.plan_of(test_level="none"))
    text = project.plan.read_bytes()
    done = cli("plan", "optimize", project.source)
    assert (done.code, done.out) == (1, "")
    assert project.plan.read_bytes() == text


def test_symbols_are_found_however_they_are_written(project: RubyProject) -> None:
    path = project.add("spec/a.rb", b'create(:a, :"b", c: 1)\n%i[d e].each { |t| t }\nFoo::Bar\n"f"\n')
    assert symbols(str(path)) - {""} >= {"a", "b", "c", "d", "e"}
    assert not symbols(str(path)) & {"Bar", "f"}
    assert [one.factory for one in factory_calls(str(path))] == ["a"]
