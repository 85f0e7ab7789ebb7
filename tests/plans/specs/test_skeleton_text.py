"""The text of a skeleton is valid Ruby, whatever a plan contains; Ruby itself checks it."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as budget
from hypothesis import strategies as st

from plans.specs.skeletons import CALL, TARGET, Fields, characteristic, complaints, paths, spec_text, text
from plans.specs.test_contexts import PAYMENT
from plans.valid_plans import plans
from runcard.plans.ruby.method_facts import CallSignature
from runcard.plans.ruby.targets import Parameter

HOSTILE = [
    "it's",
    '"quoted"',
    "#{exit}",
    "back\\slash\\",
    "line\nend\nexit!",
    "=begin",
    "__END__",
    "\u202eright to left",
    "tab\tand\0nul",
    "größe",
    "日本語",
    "%w[a b]",
    "`ls`",
    "' + `ls` + '",
    "\\'; exit; '",
    "\u2028",
    "#$0",
]


def test_a_skeleton_reads_like_this() -> None:
    assert text(PAYMENT[:1]) == (
        "# frozen_string_literal: true\n"
        "\n"
        "require 'rails_helper'\n"
        "\n"
        "RSpec.describe PaymentService do\n"
        "  describe '#process' do\n"
        "    subject(:result) { instance.process }\n"
        "\n"
        "    let(:instance) { described_class.new }\n"
        "\n"
        "    context 'when user is authenticated' do\n"
        "      # TODO: set up user_authenticated: authenticated\n"
        "\n"
        "      it 'behaves as expected' do\n"
        "        # TODO: describe the expected result\n"
        "        skip 'no expectation yet'\n"
        "      end\n"
        "    end\n"
        "\n"
        "    context 'when user is not authenticated' do\n"
        "      # TODO: set up user_authenticated: not_authenticated\n"
        "\n"
        "      it 'behaves as expected' do\n"
        "        # TODO: describe the expected result\n"
        "        skip 'no expectation yet'\n"
        "      end\n"
        "    end\n"
        "  end\n"
        "end\n"
    )


def test_a_class_method_gets_no_instance() -> None:
    written = text(PAYMENT, CallSignature(constructor=[Parameter("user")]), method_type="class")
    assert "describe '.process' do" in written
    assert "subject(:result) { described_class.process }" in written
    assert "instance" not in written.replace("instance_of", "")
    assert "described_class.new" not in written


def test_what_the_method_and_the_instance_need_are_lets() -> None:
    call = CallSignature(
        [Parameter("amount"), Parameter("class", is_keyword=True)], [Parameter("amount"), Parameter("")]
    )
    written = text([], call)
    assert "{ instance.process(amount, class: class_argument) }" in written
    assert "{ described_class.new(amount, argument_3) }" in written
    assert [line.strip() for line in written.splitlines() if "TODO: pass" in line] == [
        "let(:amount) { nil } # TODO: pass an amount",
        "let(:class_argument) { nil } # TODO: pass a class argument",
        "let(:argument_3) { nil } # TODO: pass an argument 3",
    ]


def test_the_constructor_is_called_by_new() -> None:
    written = text([], CallSignature([Parameter("user")], [Parameter("user")]), method="initialize")
    assert "subject(:result) { described_class.new(user) }" in written
    assert "let(:instance)" not in written


def test_a_plan_without_characteristics_has_one_example() -> None:
    written = text([])
    assert written.count("it '") == 1
    assert "context" not in written


def test_what_the_plan_knows_about_a_setup_is_told() -> None:
    setup = {"type": "attribute", "class": "Invoice", "source": "paid_at"}
    each = characteristic(
        "amount", "range", ["large", "small"], setup=setup, threshold_value=10, threshold_operator=">="
    )
    assert "# TODO: set up amount: large, by attribute Invoice paid_at, threshold >= 10\n" in text([each])
    assert "# TODO: set up a: b, by factory\n" in text([characteristic("a", "enum", "bc", setup="factory")])


def test_an_error_is_named_where_it_is_to_be_raised() -> None:
    setup = {"type": "exception", "class": None, "source": "rescue *ERRORS"}
    said = {"subject": "", "states": {"fine": "no error is raised", "timeout": "Net::ReadTimeout is raised"}}
    worded = characteristic("outcome", "binary", ["fine", "timeout"], setup=setup, wording=said)
    assert "set up outcome: timeout, by exception: Net::ReadTimeout is raised\n" in text([worded])
    bare = characteristic("outcome", "binary", ["fine", "timeout"], setup=setup)
    assert "set up outcome: timeout, by exception rescue *ERRORS\n" in text([bare])
    of_model = worded | {"setup": setup | {"type": "model"}}
    assert "set up outcome: timeout, by model rescue *ERRORS\n" in text([of_model])


def _spoken(name: str, states: list[str]) -> list[Fields]:
    return [characteristic(name, "enum", states), characteristic(f"{name} too", "binary", states[:2])]


@pytest.mark.needs("ruby")
def test_ruby_takes_every_skeleton(tmp_path: Path) -> None:
    written = [text(_spoken(name, HOSTILE[place:] + HOSTILE[:place])) for place, name in enumerate(HOSTILE)]
    methods = [
        "total",
        "paid?",
        "save!",
        "name=",
        "[]",
        "[]=",
        "<=>",
        "+@",
        "!",
        "`",
        "größe",
        "class",
        "Foo",
        "a\u200b",
    ]
    written += [text(PAYMENT, CallSignature([Parameter("x")]), method=method) for method in methods]
    written += [text(PAYMENT, CALL, method=method, method_type="class") for method in methods]
    written += [text([], CALL, **{"class": name}) for name in ("::A::B", "Élan", "END", "A::BEGIN")]
    names = ["it", "end", "_", "größe", "hash", "self", "__FILE__", "instance", "result", "subject"]
    for is_keyword in (False, True):
        call = CallSignature([Parameter(name, is_keyword=is_keyword) for name in names], [Parameter("")])
        written.append(text([], call))
    assert [found for found in complaints(written, tmp_path) if found] == []


@pytest.mark.needs("ruby")
def test_running_a_skeleton_finds_the_groups_that_were_planned(tmp_path: Path) -> None:
    assert paths(text(PAYMENT), tmp_path) == [
        ["PaymentService", "#process", *groups]
        for groups in (
            [
                "when user is authenticated",
                "and payment method is card",
                "with valid card",
                "with sufficient balance",
            ],
            [
                "when user is authenticated",
                "and payment method is card",
                "with valid card",
                "but balance is insufficient",
            ],
            ["when user is authenticated", "and payment method is card", "but card is expired"],
            ["when user is authenticated", "and payment method is paypal"],
            ["when user is not authenticated"],
        )
    ]


@pytest.mark.needs("ruby")
def test_a_hostile_state_is_a_name_and_does_nothing(tmp_path: Path) -> None:
    found = paths(
        text([characteristic("x", "enum", ["#{exit}", "'; exit; '", 'a"b', "c\\d", "\n exit \n"])]), tmp_path
    )
    assert [groups[-1] for groups in found] == [
        "when x is #{exit}",
        "when x is '; exit; '",
        'when x is a"b',
        "when x is c\\d",
        "when x is exit",
    ]


@pytest.mark.needs("ruby")
@given(st.lists(plans(), min_size=20, max_size=20))
@budget(max_examples=3, suppress_health_check=list(HealthCheck))
def test_ruby_takes_the_skeleton_of_any_plan(
    tmp_path_factory: pytest.TempPathFactory, found: list[Fields]
) -> None:
    folder = tmp_path_factory.mktemp("specs")
    written = [spec_text(TARGET | plan["target"], plan["characteristics"], is_tagged=True) for plan in found]
    assert [complaint for complaint in complaints(written, folder) if complaint] == []


@pytest.mark.needs("ruby")
@given(st.lists(st.text(min_size=1, max_size=8), min_size=2, max_size=60, unique=True))
@budget(max_examples=5, suppress_health_check=list(HealthCheck))
def test_ruby_takes_any_text_for_a_state(tmp_path_factory: pytest.TempPathFactory, states: list[str]) -> None:
    folder = tmp_path_factory.mktemp("states")
    assert complaints([text([characteristic(states[0], "enum", states)])], folder) == [None]


@pytest.mark.long
@pytest.mark.needs("rubocop")
def test_rubocop_finds_nothing_serious(tmp_path: Path) -> None:
    for place, name in enumerate(HOSTILE[:4]):
        (tmp_path / f"state_{place}_spec.rb").write_text(text(_spoken(name, HOSTILE)), "utf-8")
    (tmp_path / "payment_spec.rb").write_text(text(PAYMENT, CallSignature([Parameter("amount")])), "utf-8")
    command = [
        "rubocop",
        "--force-default-config",
        "--cache",
        "false",
        "--fail-level",
        "warning",
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
