"""The states that descriptions of contexts and examples are about: variants of how people name them."""

from pathlib import Path

import pytest

from plans.specs.skeletons import Fields, characteristic
from runcard.plans.ruby.spec_tree import read_spec
from runcard.plans.spec_groups import is_of_method
from runcard.plans.state_names import StateNames


def worded(name: str, subject: str, **states: str) -> Fields:
    return characteristic(name, "binary", list(states)) | {"wording": {"subject": subject, "states": states}}


PLAN = [
    worded("user_active", "user", active="is active", inactive="is inactive"),
    worded("block_present", "block", absent="is absent", present="is present"),
    characteristic("payment_method", "enum", ["card", "invoice", "bank_transfer"]),
    worded("directory", "it", directory="is directory", not_directory="is not directory"),
    worded("options_present", "options", present="are present", empty="are empty"),
    worded("outcome", "", succeeded="no error is raised", usage_error="Shop::UsageError is raised"),
]
NAMES = StateNames(PLAN)


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("when the user is active", {"active"}),
        ("when user is not active", {"inactive"}),
        ("if the user isn't active", {"inactive"}),
        ("with an inactive user", {"inactive"}),
        ("unless the user is active", {"inactive"}),
        ("for an active user, with a block", {"active", "present"}),
        ("without a block", {"absent"}),
        ("when no block is given", {"absent"}),
        ("when a block is provided", {"present"}),
        ("given a block", {"present"}),
        ("when the block is nil", {"absent"}),
        ("and pays by card", {"card"}),
        ("when the payment method is invoice", {"invoice"}),
        ("by bank transfer", {"bank_transfer"}),
        ("when directory", {"directory"}),
        ("when not a directory", {"not_directory"}),
        ("with empty options", {"empty"}),
        ("when there's a UsageError", {"usage_error"}),
    ],
)
def test_a_context_is_about_a_state(text: str, states: set[str]) -> None:
    assert {state for _, state in NAMES.in_context(text)} == states


@pytest.mark.parametrize(
    "text",
    [
        "when the user has an active subscription",
        "when the user's subscription is active",
        "with user email",
        "with a blocked user",
        "when the user is active or the block is nil",
        "when touching a directory that does not exist",
        "when present",
        "when it is empty",
        "when an error is raised",
        "when the card is expired and the card is lost",
        "when \u65e5\u672c",
        "",
        "#{name}",
    ],
)
def test_what_could_mean_something_else_is_about_no_state(text: str) -> None:
    assert NAMES.in_context(text) == set()


def test_of_an_example_only_the_condition_counts() -> None:
    assert NAMES.in_example("returns nil when the user is inactive") == {("user_active", "inactive")}
    assert NAMES.in_example("returns the active user") == set()
    assert NAMES.in_example("raises an error without a block") == set()
    assert NAMES.in_example("calls the block if the user is active, when a block is given") == {
        ("user_active", "active"),
        ("block_present", "present"),
    }


def test_a_context_that_ends_with_a_call_is_not_the_group_of_a_method(tmp_path: Path) -> None:
    spec = tmp_path / "cart_spec.rb"
    spec.write_text("describe Cart do\n  context 'when total is above cart.limit' do\n  end\nend\n")
    assert not is_of_method(read_spec(str(spec)).parts[0].children[0])


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("when the channel is WhatsApp", {"whatsapp"}),
        ("when the channel is not WhatsApp", set()),
        ("with a WhatsApp channel", {"whatsapp"}),
        ("when the message has no content", {"absent"}),
        ("when the channel has no content", set()),
        ("when the message has no content type", set()),
        ("when the message is not content", set()),
        ("when there is no message", set()),
        ("when the message has no items", {"empty"}),
        ("when items are empty", {"empty"}),
        ("with items", {"filled"}),
        ("when it is outside the messaging window", {"late"}),
        ("when it is within the messaging window", {"in_time"}),
        ("when it is not within the messaging window", {"late"}),
    ],
)
def test_descriptions_name_states_in_other_words(text: str, states: set[str]) -> None:
    names = StateNames(
        [
            worded("channel", "channel", whatsapp="is Whatsapp", email="is email"),
            worded("content", "message content", given="is present", absent="is absent"),
            worded("items", "message items", filled="are present", empty="are empty"),
            worded("window", "", in_time="`within_messaging_window?`", late="not `within_messaging_window?`"),
        ]
    )
    assert {state for _, state in names.in_context(text)} == states


SETTINGS = StateNames(
    [
        worded("footer", "bullet add footer", set="is set", not_set="is not set"),
        worded("console", "bullet console", on="is enabled", off="is not enabled"),
        worded("title", "title option", titled="is present", untitled="is absent"),
        worded("token", "token", known="is present", unknown="is absent"),
        worded("type", "headers content type", typed="is present", untyped="is absent"),
        worded("fulltime", "with fulltime", long="is true", short="is false"),
        worded("body", "response body", array="is an Array", no_array="is not an Array"),
        worded("bullet", "bullet", runs="enables", rests="does not enable"),
        worded("admin", "account user", admin="is administrator", no_admin="is not administrator"),
        worded("published", "record", out="is published", draft="is not published"),
        worded("offer", "offer", taken="accepts", left="does not accept"),
        worded("arg", "arg", argued="is present", unargued="is absent"),
        worded("lines", "lines length", many="is above 1", few="is up to 1"),
        worded("color", "color", colored="is enabled", plain="is not enabled"),
    ]
)


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("when add_footer is true", {"set"}),
        ("when add_footer is false", {"not_set"}),
        ("when the add_footer flag is enabled", {"set"}),
        ("when add_footer is disabled", {"not_set"}),
        ("when console_enabled is true", {"on"}),
        ("when console_enabled is false", {"off"}),
        ("without_fulltime", {"short"}),
        ("when fulltime is true", {"long"}),
        ("with a title", {"titled"}),
        ("with a title parameter", {"titled"}),
        ("with a title param", {"titled"}),
        ("unless console_enabled is false", {"on"}),
        ("without the title option", {"untitled"}),
        ("without a title being set", {"untitled"}),
        ("with token = nil", {"unknown"}),
        ("when token is set to nil", {"unknown"}),
        ("when the token is set", {"known"}),
        ("if there is no Content-Type header", {"untyped"}),
        ("with a Content-Type header", {"typed"}),
        ("with a title and a token", {"titled", "known"}),
        ("without a title and a token", {"untitled"}),
        ("when the body returns an Array", {"array"}),
        ("when the body does not return an Array", {"no_array"}),
        ("when Bullet is enabled", {"runs"}),
        ("when Bullet is disabled", {"rests"}),
        ("when the bullet does not enable", {"rests"}),
        ("when the user is an administrator", {"admin"}),
        ("for non-administrators", {"no_admin"}),
        ("with an unpublished record", {"draft"}),
        ("with a token expired", set()),
        ("when the record has no published token", set()),
        ("with a token option", {"known"}),
        ("when true", set()),
        ("when Bullet is an enabler", set()),
        ("when the offer is accepted", {"taken"}),
        ("when no argument is given", {"unargued"}),
        ("when given an argument", {"argued"}),
        ("with an arg", {"argued"}),
        ("when the length of lines is more than 1", {"many"}),
        ("when the lines length is greater than 1", {"many"}),
        ("when the lines length is at most 1", {"few"}),
        ("when the enabled screen has color enabled", {"colored"}),
        ("when color is enabled in color disabled", set()),
    ],
)
def test_settings_and_options_are_named_by_what_they_are_set_to(text: str, states: set[str]) -> None:
    assert {state for _, state in SETTINGS.in_context(text)} == states


def test_what_follows_and_is_a_condition_of_an_example_too() -> None:
    name = "grants access if the record is published and the user is an administrator"
    assert {state for _, state in SETTINGS.in_example(name)} == {"out", "admin"}
    assert {
        state
        for _, state in SETTINGS.in_example("returns it unless the record is published and sets a token")
    } == {"draft"}


def test_an_example_of_a_policy_is_about_the_user_that_it_names() -> None:
    plan = [
        worded("admin", "user", admin="is admin", no_admin="is not admin"),
        worded("staff", "user", staff="is staff", no_staff="is not staff"),
    ]
    policy, other = StateNames(plan, is_policy=True), StateNames(plan)
    for text, states in (
        ("allows admin users to see any log", {"admin"}),
        ("does not allow non-admins to see it", {"no_admin"}),
        ("grants access to staff", {"staff"}),
        ("denies access to non-staff from elsewhere", {"no_staff"}),
        ("Admins can destroy any comment", {"admin"}),
        ("staff cannot destroy it", {"staff"}),
        ("allows users to see the admin", set()),
        ("shows it to admins", set()),
    ):
        assert {state for _, state in policy.in_example(text)} == states
        assert other.in_example(text) == set()


def test_the_class_of_an_error_may_be_written_with_its_modules() -> None:
    names = StateNames(
        [worded("outcome", "", fine="no error is raised", timeout_error="Timeout::Error is raised")]
    )
    assert names.in_context("with Timeout::Error") == {("outcome", "timeout_error")}
