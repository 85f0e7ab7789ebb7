"""The format of new plans, and of those that are written again."""

import json
import shutil
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from conftest import Cli
from documents import samples as documents
from plans.analysis.test_corpus import CASES, analyzed
from plans.shop import PAY, USER, Shop
from plans.specification import problems
from runcard.documents.migrations import migrate
from runcard.documents.testplan.plan import TestPlan
from runcard.documents.testplan.state_copies import MAX_CHARACTERISTICS, join_copies, split_states
from runcard.documents.testplan.versions import PlanShape, in_latest_shape, in_shape
from runcard.encoding.yaml import decode_yaml
from runcard.errors import DocumentError
from runcard.plans.spec_contexts import Context, contexts_of

Fields = dict[str, Any]

ONE_THREE, TWO = PlanShape.of_version("1.3"), PlanShape.of_version("2.0")


def by_name(plan: Fields) -> dict[str, Fields]:
    return {each["name"]: each for each in plan["characteristics"]}


def shape(plan: Fields) -> tuple[object, set[type], set[type]]:
    """The stated version, and the types of `when_parent` and `setup`."""
    listed = plan["characteristics"]
    return (
        plan.get("format_version"),
        {type(each["when_parent"]) for each in listed if each["depends_on"]},
        {type(each["setup"]) for each in listed},
    )


NEW_1_3 = ("1.3", {str}, {str})
NEW_2_0 = ("2.0", {list}, {dict})


class TestNewPlans:
    def test_they_have_version_1_3(self, cli: Cli, shop: Shop) -> None:
        printed = cli("plan", "analyze", shop.source, *PAY)
        assert shape(yaml.safe_load(printed.out)) == NEW_1_3
        assert printed.out.startswith("format_version: '1.3'\n")
        cli("plan", "analyze", shop.source, *PAY, "--write")
        assert shape(shop.read()) == NEW_1_3
        assert shop.plan.read_text().startswith("format_version: '1.3'\n")
        assert cli("plan", "validate", shop.source).out == f"{shop.plan}: valid testplan 1.3\n"
        assert cli("plan", "status", shop.source).out == f"{shop.source}: fresh\n"

    def test_a_condition_in_several_states_has_a_characteristic_for_each(self, cli: Cli, shop: Shop) -> None:
        plan = yaml.safe_load(cli("plan", "analyze", shop.source, *PAY).out)
        found = [
            (each["name"], each["depends_on"], each["when_parent"], each["level"], each.get("repeats"))
            for each in plan["characteristics"]
        ]
        method, expired, amount = "order_payment_method", "order_card_expired", "amount"
        assert found == [
            ("order_items_present", None, None, 1, None),
            (method, None, None, 1, None),
            (expired, method, "card", 2, None),
            (f"{expired}_when_prepaid", method, "prepaid", 2, expired),
            (amount, expired, "not_expired", 3, None),
            (f"{amount}_when_prepaid", f"{expired}_when_prepaid", "not_expired", 3, amount),
            ("order_confirmed", amount, "above_500", 4, None),
            ("order_confirmed_when_prepaid", f"{amount}_when_prepaid", "above_500", 4, "order_confirmed"),
            ("order_customer_premium", method, "invoice", 2, None),
        ]

    def test_nothing_is_lost(self, cli: Cli, shop: Shop) -> None:
        known = by_name(json.loads(cli("plan", "analyze", shop.source, *PAY, "--json").out))
        assert known["order_items_present"]["terminal_states"] == ["empty"]
        for name in ("amount", "amount_when_prepaid"):
            assert {key: known[name][key] for key in ("setup", "setup_class", "setup_source")} == {
                "setup": "argument",
                "setup_class": None,
                "setup_source": "amount",
            }
            assert (known[name]["threshold_value"], known[name]["threshold_operator"]) == (500, ">")

    @pytest.mark.parametrize("way", ["option", "setting"])
    def test_the_later_version_is_a_choice(
        self, cli: Cli, shop: Shop, monkeypatch: pytest.MonkeyPatch, way: str
    ) -> None:
        option = ("--format", "2.0") if way == "option" else ()
        if way == "setting":
            monkeypatch.setenv("RUNCARD_PLAN_FORMAT", "2.0")
        assert shape(yaml.safe_load(cli("plan", "analyze", shop.source, *PAY, *option).out)) == NEW_2_0
        cli("plan", "analyze", shop.source, "--all-methods", *option, "--write")
        assert shape(shop.read()) == NEW_2_0
        assert "repeats" not in shop.plan.read_text()

    def test_an_option_outranks_the_setting(
        self, cli: Cli, shop: Shop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RUNCARD_PLAN_FORMAT", "2.0")
        assert (
            shape(yaml.safe_load(cli("plan", "analyze", shop.source, *PAY, "--format", "1.3").out)) == NEW_1_3
        )
        assert cli("plan", "analyze", shop.source, *PAY, "--format", "1.2").code == 64

    def test_the_setting_may_be_a_number(self, cli: Cli, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(shop.root)
        (shop.root / "runcard.toml").write_text("[plans]\nformat = 2.0\n")
        assert shape(yaml.safe_load(cli("plan", "analyze", shop.source, *PAY).out)) == NEW_2_0
        (shop.root / "runcard.toml").write_text("[plans]\nformat = 3.0\n")
        assert "1.3 or 2.0" in cli("plan", "analyze", shop.source, *PAY).err

    def test_one_that_is_too_large_for_1_3_is_refused_and_the_others_written(
        self, cli: Cli, shop: Shop
    ) -> None:
        """Each level has two states of three, so the copies double with each level."""
        opened = "".join(f"case a{level}\nwhen :x, :y\n" for level in range(12))
        closed = "when :z then 1\nend\n" * 12
        shop.source.write_text(f"class A\ndef deep\n{opened}{closed}end\ndef flat = a? ? 1 : 2\nend\n")
        done = cli("plan", "analyze", shop.source, "--all-methods", "--write")
        assert done.code == 1
        assert "version 1.3 needs more than 1,000 characteristics" in done.err
        assert [each["name"] for each in shop.read()["characteristics"]] == ["a"]
        assert "1,000" in cli("plan", "analyze", shop.source, "--all-methods").err
        assert cli("plan", "analyze", shop.source, "--method", "deep", "--format", "2.0").code == 2


class TestExistingPlans:
    @pytest.fixture
    def rich(self, cli: Cli, shop: Shop) -> Fields:
        plan: Fields = decode_yaml(cli("plan", "analyze", shop.source, *PAY, "--format", "2.0").out.encode())
        plan["automation"]["architect_completed"] = True
        return plan

    def test_each_keeps_its_shape(self, cli: Cli, shop: Shop, rich: Fields) -> None:
        shapes = {
            "1.3": in_shape(rich, ONE_THREE),
            "1.3, a number": in_shape(rich, ONE_THREE._replace(stated=1.3)),
            "1.3, not stated": in_shape(rich, ONE_THREE._replace(stated=None)),
            "1.3, later": in_shape(rich, PlanShape("1.3", has_lists=True)),
            "1.3, later, stated": in_shape(rich, PlanShape("1.3", has_lists=True, stated="1.3")),
            "2.0": rich,
            "2.0, not stated": in_shape(rich, TWO._replace(stated=None)),
        }
        for name, plan in shapes.items():
            shop.write(plan)
            before = shop.plan.read_bytes()
            assert cli("plan", "analyze", shop.source, *PAY, "--write").code == 0
            assert shop.plan.read_bytes() == before, name
            shop.change("order.confirmed?", "order.checked?")
            assert cli("plan", "analyze", shop.source, *PAY, "--write").code == 0
            after = shop.read()
            assert shape(after) == shape(plan), name
            assert "order_checked" in by_name(after)
            assert "architect_completed" not in after["automation"], name
            assert list(after) == list(plan), name
            assert cli("plan", "validate", shop.source).code == 0, name
            shop.change("order.checked?", "order.confirmed?")

    def test_a_plan_of_1_2_gets_the_sections_of_1_3_and_no_version(
        self, cli: Cli, shop: Shop, rich: Fields
    ) -> None:
        older = in_shape(rich, ONE_THREE._replace(stated=None))
        del older["automation"], older["analyzer"]["source_file_mtime"]
        shop.write(older)
        assert cli("plan", "analyze", shop.source, *PAY, "--write").code == 0
        assert shape(shop.read()) == (None, {str}, {str})

    @pytest.mark.parametrize(("version", "expected"), [("1.3", NEW_1_3), ("2.0", NEW_2_0)])
    def test_it_is_converted_on_request_and_the_reports_stay(
        self, cli: Cli, shop: Shop, rich: Fields, version: str, expected: object
    ) -> None:
        """A plan that says the same in the other version is no new analysis."""
        other = {"1.3": rich, "2.0": in_shape(rich, ONE_THREE._replace(stated=None))}[version]
        shop.write(other)
        assert cli("plan", "analyze", shop.source, *PAY, "--format", version, "--write").code == 0
        assert shape(shop.read()) == expected
        assert next(iter(shop.read())) == "format_version"
        assert shop.read()["automation"]["architect_completed"] is True
        assert not shop.plan.with_name(f"{shop.plan.name}.previous").exists()

    @pytest.mark.parametrize("version", ["1.3", "2.0"])
    def test_lines_that_moved_are_no_new_analysis(self, cli: Cli, shop: Shop, version: str) -> None:
        cli("plan", "analyze", shop.source, *PAY, "--format", version, "--write")
        cli("plan", "mark", "architect", shop.source)
        shop.change("order.card.expired?", "order.card .expired?")
        cli("plan", "analyze", shop.source, *PAY, "--write")
        assert "architect_completed" in shop.read()["automation"]
        assert "order.card .expired?" in shop.plan.read_text()

    def test_a_copy_that_somebody_removed_makes_a_new_analysis(self, cli: Cli, shop: Shop) -> None:
        cli("plan", "analyze", shop.source, *PAY, "--write")
        plan = shop.read()
        plan["characteristics"] = [
            each for each in plan["characteristics"] if each["name"] != "order_confirmed_when_prepaid"
        ]
        plan["automation"]["architect_completed"] = True
        shop.write(plan)
        cli("plan", "analyze", shop.source, *PAY, "--write")
        assert "order_confirmed_when_prepaid" in by_name(shop.read())
        assert "architect_completed" not in shop.read()["automation"]


def results(cli: Cli, shop: Shop, version: str) -> Iterator[object]:
    """What the commands that read a plan say about it."""
    cli("plan", "analyze", shop.source, *PAY, "--format", version, "--write")
    validated = cli("plan", "validate", shop.source)
    yield validated.code
    yield cli("plan", "skeleton", shop.source, "--json").out
    yield shop.spec.read_text()
    yield cli("plan", "review", shop.source, "--json").out
    yield cli("plan", "review", shop.source).out
    yield cli("plan", "review", shop.source, "--annotations", "github").out
    yield cli("plan", "guide", "implementer", shop.source).out
    yield cli("plan", "optimize", shop.source, "--json").out
    yield cli("plan", "diff", shop.source, "--json").out
    yield cli("plan", "status", shop.source, "--json").out
    shop.change("order.confirmed?", "order.checked?")
    yield cli("plan", "diff", shop.source, "--json").out
    cli("plan", "analyze", shop.source, *PAY, "--write")
    yield cli("plan", "skeleton", shop.source, "--json").out
    yield shop.spec.read_text()


def test_commands_say_the_same_of_both_versions(cli: Cli, tmp_path: Path) -> None:
    """Also in a spec that existed before, and after the source has changed."""
    said = {}
    for version in ("1.3", "2.0"):
        shop = Shop(tmp_path / "shop")
        (shop.root / "spec/factories/orders.rb").write_text(
            "FactoryBot.define { factory(:order) { trait(:paid) { paid { true } } } }"
        )
        said[version] = list(results(cli, shop, version))
        shutil.rmtree(tmp_path / "shop")
    assert said["1.3"] == said["2.0"]
    assert len([each for each in said["1.3"] if each]) == 13 - 1


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("several_states")])
def test_commands_say_the_same_of_every_source_with_several_states(
    case: str, cli: Cli, tmp_path: Path
) -> None:
    said = []
    for version in ("1.3", "2.0"):
        root = tmp_path / "project"
        analysis, expected = analyzed(case, root)
        source = root / expected["file"]
        written = cli(
            "plan", "analyze", source, "--method", expected["method"], "--format", version, "--write"
        )
        plan = decode_yaml(Path(written.out.strip()).read_bytes())
        assert any("repeats" in each for each in plan["characteristics"]) is (version == "1.3")
        cli("plan", "skeleton", source)
        (spec,) = root.rglob("*_spec.rb")
        review = json.loads(cli("plan", "review", source, "--json").out)
        names = {each["name"] for each in analysis.plan["characteristics"]}
        assert {state["characteristic"] for state in review["states"]} == names
        guide = cli("plan", "guide", "implementer", source).out
        said.append((spec.read_text(), review, guide, cli("plan", "optimize", source, "--json").out))
        shutil.rmtree(root)
    assert said[0] == said[1]


def test_both_versions_do_not_differ(cli: Cli, shop: Shop, tmp_path: Path) -> None:
    for version in ("1.3", "2.0"):
        out = cli("plan", "analyze", shop.source, *PAY, "--format", version).out
        (tmp_path / f"{version}.yml").write_text(out)
    done = cli("plan", "diff", tmp_path / "1.3.yml", tmp_path / "2.0.yml", "--json")
    assert json.loads(done.out)["same"] is True


# Recognising a version


@pytest.mark.parametrize(
    ("stated", "change", "version", "is_later"),
    [
        ("1.3", {}, "1.3", False),
        ("1.3", {"threshold_value": 5, "terminal_states": [], "setup": "argument"}, "1.3", False),
        ("1.3", {"when_parent": []}, "1.3", True),
        ("2.0", {}, "2.0", True),
        (None, {}, "1.3", False),
        (None, {"terminal_states": []}, "1.3", True),
        (None, {"when_parent": []}, "1.3", True),
        (None, {"setup": "argument", "threshold_value": 5}, "1.3", True),
        (None, {"threshold_value": 5}, "2.0", True),
        (None, {"setup": {"type": "argument"}}, "2.0", True),
    ],
)
def test_only_later_files_may_number_their_roots(
    stated: str | None, change: Fields, version: str, *, is_later: bool
) -> None:
    plan = documents.plan()
    roots = [plan["characteristics"][0] | {"name": f"root_{number}", "level": number} for number in (1, 2)]
    plan["characteristics"] = [each | change for each in roots]
    report = TestPlan.check(plan | ({} if stated is None else {"format_version": stated}))
    assert report.version == version
    assert [each.rule for each in report.findings] == ["dependency.level" if is_later else "mistake.level"]


# All that the analyzer finds


def without_place(contexts: tuple[Context, ...]) -> list[object]:
    """The contexts with the conditions and states that they are about, without names."""
    return [(each.characteristic["condition"], each.state, without_place(each.children)) for each in contexts]


def check_split(plan: Fields) -> None:
    """A plan of 2.0 in 1.3: valid for a stranger, with equal contexts, and the same again in memory."""
    older = in_shape(plan, ONE_THREE)
    assert problems(decode_yaml(TestPlan.encode(older))) == []
    assert problems(yaml.safe_load(TestPlan.encode(older))) == []
    assert TestPlan.check(older).valid
    assert in_latest_shape(older)["characteristics"] == plan["characteristics"]
    assert PlanShape.of_plan(older) == ONE_THREE
    unstated = in_shape(plan, ONE_THREE._replace(stated=None))
    assert (PlanShape.of_plan(unstated).version, PlanShape.of_plan(unstated).has_lists) == ("1.3", False)
    contexts = contexts_of(plan["characteristics"])
    assert without_place(contexts_of(older["characteristics"])) == without_place(contexts)


@pytest.mark.parametrize("case", CASES)
def test_a_stranger_reads_every_plan_of_the_corpus(case: str, tmp_path: Path) -> None:
    analysis, _ = analyzed(case, tmp_path / "project")
    check_split(analysis.plan)


def test_the_validator_of_a_stranger_finds_what_is_wrong(cli: Cli, shop: Shop) -> None:
    """So an empty list of problems means something."""
    assert any("when_parent" in each for each in problems(rich_plan(cli, shop)))
    plan = yaml.safe_load(cli("plan", "analyze", shop.source, *PAY).out)
    assert problems(plan) == []
    changes: list[Fields] = [
        {"analyzer": plan["analyzer"] | {"timestamp": "today"}},
        {"analyzer": plan["analyzer"] | {"completed": "true"}},
        {"test_level": "system"},
        {"target": plan["target"] | {"method_type": None}},
        {"factories_detected": {"user": {"file": "a.rb"}}},
        {"automation": {"errors": "none"}},
        *(
            {"characteristics": [*plan["characteristics"][:-1], plan["characteristics"][-1] | change]}
            for change in (
                {"level": 1},
                {"when_parent": "cash"},
                {"depends_on": "nobody"},
                {"depends_on": "order_customer_premium"},
                {"name": "amount"},
                {"states": ["one"]},
                {"type": "boolean"},
                {"default": "vip"},
            )
        ),
    ]
    assert [change for change in changes if not problems(plan | change)] == []


def rich_plan(cli: Cli, shop: Shop) -> Fields:
    plan: Fields = yaml.safe_load(cli("plan", "analyze", shop.source, *PAY, "--format", "2.0").out)
    return plan


# Splitting and joining


@st.composite
def forests(draw: st.DrawFn) -> list[Fields]:
    """Characteristics of which many depend on several states of their parent; names may look like those of copies."""
    listed: list[Fields] = []
    for number in range(draw(st.integers(1, 6))):
        parent = draw(st.none() | st.sampled_from(listed)) if listed else None
        when = draw(st.lists(st.sampled_from(parent["states"]), min_size=1, unique=True)) if parent else None
        listed.append(
            {
                "name": draw(st.sampled_from([f"c{number}", f"c0_when_s1{'x' * number}"])),
                "type": "enum",
                "states": ["s0", "s 1", "s2"],
                "default": None,
                "depends_on": parent["name"] if parent else None,
                "when_parent": when,
                "level": parent["level"] + 1 if parent else 1,
                "condition": f"q{number}",
            }
        )
    return listed


@given(forests())
def test_what_was_split_is_joined_again(listed: list[Fields]) -> None:
    try:
        split = split_states(listed)
    except DocumentError:
        return
    assert all(each["when_parent"] is None or isinstance(each["when_parent"], str) for each in split)
    names = [each["name"] for each in split]
    assert len(set(names)) == len(names)
    assert {each["name"] for each in listed} <= set(names)
    assert in_latest_shape({"characteristics": split})["characteristics"] == listed
    order = {name: index for index, name in enumerate(names)}
    assert all(
        order[each["depends_on"]] < order[each["name"]] for each in split if each["depends_on"] is not None
    )


@given(forests(), st.data())
def test_copies_that_differ_stay_characteristics_of_their_own(
    listed: list[Fields], data: st.DataObject
) -> None:
    """Whatever is joined says what the parts said: the contexts are the same."""
    try:
        split = split_states(listed)
    except DocumentError:
        return
    index = data.draw(st.integers(0, len(split) - 1))
    change = data.draw(st.sampled_from(["remove", "condition", "state"]))
    if change == "remove":
        gone = split.pop(index)["name"]
        split = [each for each in split if each["depends_on"] != gone]
        if any(each["depends_on"] not in {None, *(one["name"] for one in split)} for each in split):
            return
    elif change == "condition":
        split[index] = split[index] | {"condition": "another"}
    elif split[index]["depends_on"] is not None:
        other = data.draw(st.sampled_from(["s0", "s 1", "s2"]))
        split[index] = split[index] | {"when_parent": other}
    joined = in_latest_shape({"characteristics": split})["characteristics"]

    def contexts(each: list[Fields]) -> list[object]:
        try:
            return without_place(contexts_of(each))
        except DocumentError:  # too many
            return []

    assert contexts(joined) == contexts(split)


def of_parent(name: str, parent: str | None, when: object, **more: object) -> Fields:
    return {"name": name, "states": ["x", "y", "z"], "depends_on": parent, "when_parent": when} | more


def joined_names(listed: list[Fields]) -> list[str]:
    return [each["name"] for each in in_latest_shape({"characteristics": listed})["characteristics"]]


A = of_parent("a", None, None)
CHAIN = [
    A | {"level": 1},
    of_parent("b", "a", ["x", "y"], level=2),
    of_parent("c", "b", ["x"], level=3),
    of_parent("d", "c", ["x"], level=4),
]


@pytest.mark.parametrize(
    "listed",
    [
        [A, of_parent("b", None, None, repeats="a")],
        [A, of_parent("b", "a", "x"), of_parent("b_2", "z", "y", repeats="b")],
        [A, of_parent("z", None, None), of_parent("b", "a", "x"), of_parent("b_2", "z", "x", repeats="b")],
        [
            A,
            of_parent("b", "a", "x"),
            of_parent("b_2", "a", "y", repeats="b", note="x"),
            of_parent("b_3", "a", "z", repeats="b_2", note="x"),
        ],
        [A, of_parent("b", None, None), of_parent("b_2", "a", "x", repeats="b")],
        [A, of_parent("b", "a", "x"), of_parent("b_2", None, None, repeats="b")],
        [A, of_parent("b", "a", "x"), of_parent("b_2", "a", None, repeats="b")],
        [
            A,
            of_parent("b", "a", "x"),
            of_parent("b_2", "a", "y", repeats="b"),
            of_parent("c", "b_2", None),
        ],
    ],
    ids=[
        "roots",
        "unknown parent",
        "two parents",
        "a copy of a copy",
        "a copy of a root",
        "a root that repeats",
        "a copy without a state",
        "a child without a state",
    ],
)
def test_what_is_no_copy_for_another_state_is_not_joined(listed: list[Fields]) -> None:
    assert joined_names(listed) == [each["name"] for each in listed]


def test_copies_are_joined_with_those_below_them_or_not_at_all() -> None:
    split = split_states(CHAIN)
    names = ["a", "b", "b_when_y", "c", "c_when_y", "d", "d_when_y"]
    assert [each["name"] for each in split] == names
    assert joined_names(split) == ["a", "b", "c", "d"]
    for name in ("b_when_y", "c_when_y", "d_when_y"):
        changed = [each | {"states": ["x", "no"]} if each["name"] == name else each for each in split]
        assert joined_names(changed) == names
    assert joined_names([*split[:-1], split[-1] | {"when_parent": "y"}]) == names
    assert joined_names([*split, of_parent("e", "d_when_y", "x", level=5)]) == [*names, "e"]


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(
                ["name", "repeats", "depends_on", "when_parent", "setup", "setup_class", "states"]
            ),
            st.none()
            | st.sampled_from(["a", "b", "c"])
            | st.lists(st.sampled_from(["a", "b"]))
            | st.integers(0, 1),
        )
        | st.none(),
        max_size=5,
    )
)
def test_any_list_can_be_joined(listed: list[Any]) -> None:
    """Nothing is invented, nothing that is no copy is lost, and the list stays as it is."""
    before = deepcopy(listed)
    assert PlanShape.of_plan({"characteristics": listed}).version in {"1.3", "2.0"}
    joined = in_latest_shape({"characteristics": listed})["characteristics"]
    if all(isinstance(each, dict) for each in listed):
        names = [each.get("name") for each in joined]
        assert [each.get("name") for each in listed if each.get("name") in names] == names
        assert all(each.get("name") in names for each in listed if "repeats" not in each)
        assert len(join_copies(listed)) <= len(listed)  # also before they are in the latest shape
    assert listed == before


def test_the_number_of_copies_is_limited() -> None:
    def chain(length: int) -> list[Fields]:
        return [
            {
                "name": f"c{number}",
                "states": ["x", "y", "z"],
                "depends_on": f"c{number - 1}" if number else None,
                "when_parent": ["x", "y"] if number else None,
                "level": number + 1,
            }
            for number in range(length)
        ]

    assert len(split_states(chain(9))) == 2**9 - 1
    with pytest.raises(DocumentError, match="needs more than 1,000 characteristics"):
        split_states(chain(10))
    wide = [{"name": f"r{n}", "states": ["x", "y"], "depends_on": None} for n in range(MAX_CHARACTERISTICS)]
    assert len(split_states(wide)) == MAX_CHARACTERISTICS


def test_a_migration_there_and_back_loses_nothing(cli: Cli, shop: Shop) -> None:
    plan = decode_yaml(
        cli("plan", "analyze", shop.root / USER, "--method", "full_name", "--format", "2.0").out.encode()
    )
    down = migrate("testplan", plan, "2.0", "1.3")
    assert down.dropped == ()
    assert problems(down.data) == []
    assert migrate("testplan", down.data, "1.3", "2.0").data == plan
