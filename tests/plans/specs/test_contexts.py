"""The contexts of a skeleton: their tree, order and wording."""

import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from plans.specs.skeletons import Fields, characteristic
from plans.valid_plans import characteristics
from runcard.documents.testplan.characteristic_tree import CharacteristicTree, leaf_contexts
from runcard.errors import DocumentError
from runcard.plans.spec_contexts import Context, contexts_of
from runcard.plans.spec_paths import spec_path
from runcard.plans.spec_wording import happy_first, is_negative

PAYMENT = [
    characteristic("user_authenticated", "binary", ["authenticated", "not_authenticated"]),
    characteristic("payment_method", "enum", ["card", "paypal"], ("user_authenticated", "authenticated")),
    characteristic("card_valid", "binary", ["valid", "expired"], ("payment_method", "card")),
    characteristic("balance", "range", ["sufficient", "insufficient"], ("card_valid", "valid")),
]


def tree(characteristics: list[Fields]) -> list[str]:
    """The descriptions, indented by their depth."""

    def lines(context: Context, depth: int) -> list[str]:
        below = [line for child in context.children for line in lines(child, depth + 1)]
        return ["  " * depth + context.description, *below]

    return [line for context in contexts_of(characteristics) for line in lines(context, 0)]


def test_what_depends_stands_in_the_state_it_depends_on() -> None:
    assert tree(PAYMENT) == [
        "when user is authenticated",
        "  and payment method is card",
        "    with valid card",
        "      with sufficient balance",
        "      but balance is insufficient",
        "    but card is expired",
        "  and payment method is paypal",
        "when user is not authenticated",
    ]


def test_the_tree_is_not_made_of_levels() -> None:
    numbered = [each | {"level": 9 - place} for place, each in enumerate(PAYMENT)]
    assert tree(numbered) == tree(PAYMENT)
    assert tree([*PAYMENT[1:], PAYMENT[0]]) == tree(PAYMENT)


def test_independent_characteristics_are_combined() -> None:
    assert tree(
        [
            characteristic("user", "binary", ["present", "absent"]),
            characteristic("plan", "enum", ["free", "paid"]),
        ]
    ) == [
        "when user is present",
        "  and plan is free",
        "  and plan is paid",
        "when user is absent",
        "  and plan is free",
        "  and plan is paid",
    ]


def test_nothing_follows_a_terminal_state() -> None:
    guard = characteristic("user", "binary", ["present", "absent"], terminal_states=["absent"])
    child = characteristic(
        "role", "enum", ["admin", "guest"], when_parent=["present", "absent"], depends_on="user"
    )
    assert tree([guard, child, characteristic("plan", "enum", ["free", "paid"])])[-1] == "when user is absent"


def test_what_always_ends_the_method_does_not_hide_what_stands_beside_it() -> None:
    ends: Fields = {"terminal_states": ["a", "b"]}
    found = tree(
        [
            characteristic("x", "enum", "ab", **ends),
            characteristic("y", "enum", "ab", **ends),
            characteristic("z", "enum", "cd"),
        ]
    )
    below = ["  and x is a", "  and x is b", "  and y is a", "  and y is b"]
    assert found == ["when z is c", *below, "when z is d", *below]


def test_a_branch_that_always_ends_leaves_the_rest_to_the_other_branch() -> None:
    first = characteristic("a", "binary", ["yes", "no"])
    inner = characteristic("x", "enum", "pq", ("a", "yes"), terminal_states=["p", "q"])
    assert tree([first, inner, characteristic("b", "enum", "rs")]) == [
        "when a is yes",
        "  and x is p",
        "  and x is q",
        "when a is no",
        "  and b is r",
        "  and b is s",
    ]


@pytest.mark.parametrize(
    ("kind", "states", "expected"),
    [
        ("binary", ["absent", "present"], ["present", "absent"]),
        ("range", ["insufficient", "sufficient"], ["sufficient", "insufficient"]),
        ("enum", ["failed", "b", "a"], ["b", "a", "failed"]),
        ("sequential", ["cancelled", "pending"], ["cancelled", "pending"]),
    ],
)
def test_what_goes_well_comes_first_but_a_sequence_keeps_its_order(
    kind: str, states: list[str], expected: list[str]
) -> None:
    assert [context.state for context in contexts_of([characteristic("x", kind, states)])] == expected


@pytest.mark.parametrize(
    "word", ["normal", "notified", "unit", "united", "invoice", "nobody_else", "under_18"]
)
def test_a_word_that_only_begins_like_a_negation_is_none(word: str) -> None:
    assert not is_negative(word)


@pytest.mark.parametrize(
    ("each", "first", "deeper"),
    [
        (characteristic("premium", "binary", ["premium", "not_premium"]), "when premium", "with premium"),
        (characteristic("is_admin", "binary", ["true", "false"]), "when admin is true", "with admin"),
        (characteristic("items", "binary", ["present", "absent"]), "when items are present", "with items"),
        (characteristic("status", "enum", ["new", "old"]), "when status is new", "and status is new"),
        (characteristic("age", "range", ["child", "adult", "old"]), "when age is child", "and age is child"),
        (
            characteristic("user", "binary", ["user_found", "user_gone"]),
            "when user is found",
            "with found user",
        ),
        (
            characteristic("middle_name_present", "binary", ["present", "absent"]),
            "when middle name is present",
            "with middle name",
        ),
        (
            characteristic("user", "binary", ["can_share", "not_can_share"]),
            "when user can share",
            "with user that can share",
        ),
        (
            characteristic("save", "binary", ["succeeded", "failed"]),
            "when save succeeded",
            "with save succeeded",
        ),
        (
            characteristic("a_equals_b", "binary", ["equal", "different"]),
            "when a equals b",
            "with a equal to b",
        ),
        (characteristic("x_in_xs", "binary", ["included", "excluded"]), "when x is in xs", "with x in xs"),
    ],
    ids=lambda value: value["name"] if isinstance(value, dict) else value,
)
def test_contexts_read_as_english(each: Fields, first: str, deeper: str) -> None:
    assert contexts_of([each])[0].description == first
    above = characteristic("a", "enum", ["b", "c"])
    assert contexts_of([above, each])[0].children[0].description == deeper


def test_the_other_of_two_states_reads_as_english() -> None:
    pairs = [
        characteristic("user", "binary", ["can_share", "not_can_share"]),
        characteristic("user", "binary", ["has_email", "not_has_email"]),
        characteristic("save", "binary", ["succeeded", "failed"]),
        characteristic("a_equals_b", "binary", ["equal", "different"]),
        characteristic("x_in_xs", "binary", ["included", "excluded"]),
    ]
    assert [contexts_of([each])[1].description for each in pairs] == [
        "when user cannot share",
        "when user has no email",
        "when save failed",
        "when a differs from b",
        "when x is not in xs",
    ]


@pytest.mark.parametrize(
    ("file", "spec"),
    [
        ("app/services/x.rb", "spec/services/x_spec.rb"),
        ("./app/models/billing/invoice.rb", "spec/models/billing/invoice_spec.rb"),
        ("lib/x.rb", "spec/lib/x_spec.rb"),
        ("x.rb", "spec/x_spec.rb"),
        ("lib/app/x.rb", "spec/lib/app/x_spec.rb"),
        ("engines/blog/app/models/post.rb", "engines/blog/spec/models/post_spec.rb"),
        ("engines/blog/lib/post.rb", "engines/blog/spec/lib/post_spec.rb"),
    ],
)
def test_the_path_of_a_spec_is_made_of_that_of_the_source(file: str, spec: str) -> None:
    assert spec_path(file) == spec


@given(characteristics(least=1))
@budget(max_examples=200)
def test_every_state_has_a_context_and_every_way_through_them_an_example(found: list[Fields]) -> None:
    every = [context for root in contexts_of(found) for context in root.walk()]
    assert {(context.characteristic["name"], context.state) for context in every} == {
        (each["name"], state) for each in found for state in each["states"]
    }
    assert sum(context.is_leaf for context in every) == leaf_contexts(CharacteristicTree(found))


@given(st.data())
@budget(max_examples=200)
def test_what_ends_the_method_is_counted_as_it_is_written(data: st.DataObject) -> None:
    found = data.draw(characteristics(least=1))
    for each in found:
        each["terminal_states"] = data.draw(st.lists(st.sampled_from(each["states"]), unique=True))
    every = [context for root in contexts_of(found) for context in root.walk()]
    assert sum(context.is_leaf for context in every) == leaf_contexts(CharacteristicTree(found))


def test_more_than_anybody_could_read_is_refused() -> None:
    with pytest.raises(DocumentError, match="more than 1,000 examples"):
        contexts_of([characteristic(f"x{number}", "enum", "ab") for number in range(12)])
    chain = [characteristic("x0", "enum", "ab")]
    chain += [
        characteristic(f"x{number}", "enum", "ab", (f"x{number - 1}", "a")) for number in range(1, 3_000)
    ]
    with pytest.raises(DocumentError, match="more than 50 levels"):
        contexts_of(chain)


@given(characteristics())
@budget(max_examples=50)
def test_the_first_state_is_never_terminal_if_another_is_not(found: list[Fields]) -> None:
    for each in found:
        terminal = set(each.get("terminal_states") or ())
        if set(each["states"]) - terminal:
            assert happy_first(each)[0] not in terminal


def test_a_sequence_that_begins_with_a_terminal_state_begins_with_the_others() -> None:
    states = characteristic(
        "order", "sequential", ["void", "new", "paid", "lost"], terminal_states=["void", "lost"]
    )
    assert happy_first(states) == ["new", "paid", "void", "lost"]
    states["terminal_states"] = ["paid"]
    assert happy_first(states) == ["void", "new", "paid", "lost"]
