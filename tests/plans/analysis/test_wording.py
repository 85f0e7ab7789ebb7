"""What states read like: English where names allow it, else the code itself."""

from pathlib import Path

import pytest

from runcard.plans.analysis import analyze
from runcard.plans.analysis.phrases import article, gerund
from runcard.plans.plan_files import MethodRef
from runcard.plans.spec_contexts import contexts_of


def wordings(tmp_path: Path, body: str) -> list[str]:
    source = tmp_path / "subject.rb"
    source.write_text(f"class Subject\n  def call(value)\n    {body}\n  end\nend\n")
    (tmp_path / "Gemfile").touch()
    plan = analyze(str(source), MethodRef(method="call")).plan
    worded = [each["wording"] for each in plan["characteristics"]]
    return [f"{each['subject']}: {' / '.join(each['states'].values())}" for each in worded]


@pytest.mark.parametrize(
    ("condition", "wording"),
    [
        # A predicate that is called with a value is about the value.
        ("duplicate?(row)", "row: is a duplicate / is not a duplicate"),
        ("required?(row)", "row: is required / is not required"),
        # Several words that are no phrase are quoted.
        ("first_line?(node, lines)", ": `first_line?(node, lines)` / not `first_line?(node, lines)`"),
        ("within_messaging_window?", ": `within_messaging_window?` / not `within_messaging_window?`"),
        ("user.inbox_access?", ": `user.inbox_access?` / not `user.inbox_access?`"),
        ("tracker.open_total?", ": `tracker.open_total?` / not `tracker.open_total?`"),
        ("tracker.click_total?", ": `tracker.click_total?` / not `tracker.click_total?`"),
        ("lookup_existing_token?", ": `lookup_existing_token?` / not `lookup_existing_token?`"),
        ("Watcher.any_watched?(row, u)", ": `Watcher.any_watched?(row, u)` / not `Watcher.any_watched?(row, u)`"),
        ("has_inherited_role?(role)", ": `has_inherited_role?(role)` / not `has_inherited_role?(role)`"),
        ("row.not_within_window?", ": not `row.not_within_window?` / `row.not_within_window?`"),
        ("row.within_limit?(1)", ": `row.within_limit?(1)` / not `row.within_limit?(1)`"),
        (
            "row.limiter_window_invoice_order_stock_item_shelf?(x)",
            ": `row.limiter_window_invoice_order_stock_item_shelf?…` / not `row.limiter_window_invoice_order_stock_item_shelf?…`",
        ),
        ("user.within_manager?", ": `user.within_manager?` / not `user.within_manager?`"),
        ("rows.all_done?", ": `rows.all_done?` / not `rows.all_done?`"),
        # What somebody is.
        ("user.can_edit?", "user: can edit / cannot edit"),
        ("user.may_edit?", "user: may edit / may not edit"),
        ("env.http_auth_header?", ": `env.http_auth_header?` / not `env.http_auth_header?`"),
        ("row.onthefly_register?", ": `row.onthefly_register?` / not `row.onthefly_register?`"),
        ("row.param_requires_conversion?", ": `row.param_requires_conversion?` / not `row.param_requires_conversion?`"),
        ("row.access_token?", ": `row.access_token?` / not `row.access_token?`"),
        ("is_custom_filter", "`is_custom_filter`: is true / is false"),
        ("row.is_custom_filter", "row `is_custom_filter`: is true / is false"),
        ("row.uses_ssl?", "row: uses ssl / does not use ssl"),
        ("update_issue_from_params", "update issue from params: is present / is absent"),
        ("user.maintainer?", "user: is a maintainer / is not a maintainer"),
        ("user.account_owner?", "user: is an account owner / is not an account owner"),
        ("file.newer?", "file: is newer / is not newer"),
        ("door.bigger?", "door: is bigger / is not bigger"),
        ("door.easier?", "door: is easier / is not easier"),
        ("rows.detect(&:late?)", ": some rows match / no rows match"),
        ("rows.find { |row| row.late? }", ": some rows match / no rows match"),
        ("door.safer?", "door: is safer / is not safer"),
        ("rows.maintainer?", "rows: are maintainer / are not maintainer"),
        ("row.page_trigger?", ": `row.page_trigger?` / not `row.page_trigger?`"),
        ("row.job_blocking?", "row job: is blocking / is not blocking"),
        ("row.blocking_user?", "row: is blocking user / is not blocking user"),
        ("node.if_type?(:x)", ": `node.if_type?(:x)` / not `node.if_type?(:x)`"),
        ("rows.all?", "rows: are all / are not all"),
        ("config.strict?", "config strict: is enabled / is disabled"),
        ("rows.find(row)", "rows: are found / are not found"),
        ("value.convert(row) { 2 }", "converting: returns a value / returns nothing"),
        ("Shop.sign_in_after_reset", "shop sign in after reset: is set / is not set"),
        ("dns.present?", "dns: is present / is absent"),
        ("file.read_only?", "file: is read only / is not read only"),
        ("page.show_sidebar?", "page: shows sidebar / does not show sidebar"),
        ("service.set_up?", "service: is set up / is not set up"),
        ("door.open_to_public?", "door: is open to public / is not open to public"),
        # Scopes of a chain stand before what they are about.
        ("value.messages.incoming.last.present?", "last incoming message of value: is present / is absent"),
        ("value.orders.paid.any?", "paid orders of value: are present / are empty"),
        ("value.posts.first.nil?", "first post of value: is present / is absent"),
        ("value.messages.chat.last.present?", "value messages chat last: is present / is absent"),
        ("value.email.present?", "value email: is present / is absent"),
        ("user.super_admin?", "user: is a super admin / is not a super admin"),
        ("order.in_progress?", "order: is in progress / is not in progress"),
        ("order.valid_for_export?", "order: is valid for export / is not valid for export"),
        ("inbox.inbox_type == 'Twitter'", "inbox type: is Twitter / is not Twitter"),
        ("accept?(env)", "it: accepts env / does not accept env"),
        ("translation_exists?(name)", "translation name: exists / does not exist"),
        ("File.exist?(path)", "path: exists / does not exist"),
        ("issue.visible?(user)", "issue: is visible to user / is hidden from user"),
        ("row.key?('node_name')", "row: has the key node_name / does not have the key node_name"),
        # Code, where words would not tell.
        ("session[key].nil?", "session[key]: is present / is absent"),
        ("ENV['HOME']", "ENV['HOME']: is present / is absent"),
        ("$?.exitstatus == 0", "$?.exitstatus: is 0 / is not 0"),
        ("node == list[0]", "node: equals list[0] / differs from list[0]"),
        ("size > Setting.max.to_i.kilobytes", "size: is above Setting.max.to_i.kilobytes / is up to Setting.max.to_i.kilobytes"),
        ("row == 'a__b__'", "row: is a__b__ / is not a__b__"),
        # Times are before or after each other.
        ("locked_at < 2.days.ago", "locked at: is before 2.days.ago / is not before 2.days.ago"),
        # Classes and constants as they are written.
        ("kind == Shop::Order", "kind: is Shop::Order / is not Shop::Order"),
        ("row == ''", "row: is an empty string / is not an empty string"),
        # Flags, verbs, adverbs, types.
        ("show_all", "show all: is set / is not set"),
        ("is_raw", ": raw / not raw"),
        ("node.if_type?", "node: is of type if / is not of type if"),
        ("disable_warnings?", "it: disables warnings / does not disable warnings"),
        ("auto_publish?", ": `auto_publish?` / not `auto_publish?`"),
        ("start_of_line?", "it: is the start of line / is not the start of line"),
        ("access_locked?", "access: is locked / is not locked"),
        ("successfully_sent?(mail)", "mail: is successfully sent / is not successfully sent"),
        ("unlock_strategy_enabled?", "unlock strategy: is enabled / is not enabled"),
        ("rows.any?(&:late?)", ": some rows match / no rows match"),
        ("options.delete(:url)", "url option: is present / is absent"),
        ("Array(rows).empty?", "rows: are present / are absent"),
        ("String(row).empty?", "row: is present / is absent"),
        ("value.name.to_s.strip.empty?", "value name: is present / is absent"),
        ("Array(rows).any?", "rows: are present / are absent"),
        ("value.name.strip.empty?", "value name: is present / is empty"),
        ("rows.to_set.none?", "rows to set: are present / are empty"),
        ("Aruba.platform.directory?(path)", "path: is a directory / is not a directory"),
        ("mod.const_defined?(name)", "mod const name: is defined / is not defined"),
        ("node.assignment?", "node: is an assignment / is not an assignment"),
        ("force", "force: is set / is not set"),
        ("mtime > orig", "mtime: is after orig / is not after orig"),
        ("`ls #{path}`.empty?", "`ls #{path}`: is present / is empty"),
        ("rows.one?", "rows: have one element / do not have one element"),
        ("user.user?", "user: is a user / is not a user"),
    ],
)  # fmt: skip
def test_a_condition_reads_like_a_sentence(condition: str, wording: str, tmp_path: Path) -> None:
    assert wordings(tmp_path, f"puts 1 if {condition}") == [wording]


def test_a_predicate_that_is_tried_reads_like_one_that_is_called(tmp_path: Path) -> None:
    expected = ["user: is present / is absent", "user: is an admin / is not an admin"]
    assert wordings(tmp_path, "puts 1 if user.try(:admin?)") == expected
    body = "puts 1 if user.try(:admin?)\n puts 2 if user&.admin?"
    assert wordings(tmp_path, body) == expected
    assert wordings(tmp_path, "puts 1 if user.try(:member?, value)") != [
        expected[0],
        "user: is a member / is not a member",
    ]


def test_errors_whose_classes_are_computed_are_quoted(tmp_path: Path) -> None:
    body = "value.go\n rescue IOError, ::Net::ReadTimeout\n 1\n rescue *ERRORS\n 2\n rescue known(value), value.errors\n 3"
    errors = ["IOError", "::Net::ReadTimeout", "an error of `ERRORS`", "an error of `known(value)`"]
    [found] = wordings(tmp_path, body)
    said = found.removeprefix(": ").split(" / ")
    assert set(said) == {f"{each} is raised" for each in ("no error", *errors, "an error of `value.errors`")}


def test_a_rescue_without_classes_is_about_any_error(tmp_path: Path) -> None:
    assert wordings(tmp_path, "value.go\n rescue\n 1") == [": no error is raised / an error is raised"]


@pytest.mark.parametrize(
    "form", ["running", "committing", "beginning", "stripping", "waiting", "sorting", "editing"]
)
def test_the_gerund_of_a_verb(form: str) -> None:
    verbs = {"run", "commit", "begin", "strip", "wait", "sort", "edit"}
    assert form in {gerund(verb) for verb in verbs}


@pytest.mark.parametrize(
    "noun", ["an x", "a u", "an id", "a user", "an html page", "a str", "an hour", "a xylophone"]
)
def test_the_article_of_a_noun(noun: str) -> None:
    assert article(noun.partition(" ")[2]) == noun


def test_a_block_is_no_part_of_what_a_helper_is_called_with(tmp_path: Path) -> None:
    source = tmp_path / "shop.rb"
    source.write_text(
        "class Shop\n  def buy(x)\n    with_lock(x) do\n      x.save\n    end\n    1\n  end\n\n  private\n\n"
        "  def with_lock(x)\n    raise Taken if x.taken?\n\n    yield\n  end\nend\n"
    )
    (tmp_path / "Gemfile").touch()
    [found] = analyze(str(source), MethodRef(method="buy")).plan["characteristics"]
    assert found["setup"]["source"] == "with_lock(x)"
    assert found["wording"]["subject"] == "`with_lock`"


def test_a_short_variable_reads_like_its_value(tmp_path: Path) -> None:
    assert wordings(tmp_path, "(s = value['size']) ? 1 : 2") == ["value size: is present / is absent"]


def test_a_setting_that_is_set_by_default_is_not_a_switch(tmp_path: Path) -> None:
    assert wordings(tmp_path, "Config.profile ||= value") == ["config profile: is present / is absent"]


def test_classes_of_a_case_have_their_names(tmp_path: Path) -> None:
    body = "case value\n when Array then 1\n when Shop::Order then 2\n end"
    assert wordings(tmp_path, body) == ["value: is an Array / is a Shop::Order"]


def test_predicates_of_an_elsif_read_like_predicates(tmp_path: Path) -> None:
    body = "if value.admin? then 1\n elsif value.int_type? then 2\n end"
    assert wordings(tmp_path, body) == ["value: is an admin / is of type int / is something else"]


def test_two_calls_of_one_name_are_told_apart(tmp_path: Path) -> None:
    found = wordings(tmp_path, "state(1) ? 1 : 2\n state(value) ? 3 : 4\n state(other) ? 5 : 6")
    assert len({each.partition(":")[0] for each in found}) == 3


def test_what_is_no_noun_is_not_said_after_with(tmp_path: Path) -> None:
    source = tmp_path / "subject.rb"
    source.write_text(
        "class S\n  def call(v)\n    puts 1 if v.a\n    puts 2 if v.paid_at\n    puts 3 if v[k]\n  end\nend\n"
    )
    (tmp_path / "Gemfile").touch()
    contexts = contexts_of(analyze(str(source), MethodRef(method="call")).plan["characteristics"])
    nested = {each.description for context in contexts for each in context.walk()}
    assert {"and v paid at is present", "and v[k] is present"} <= nested


def test_what_a_policy_asks_itself_is_about_its_user(tmp_path: Path) -> None:
    source = tmp_path / "app" / "policies" / "order_policy.rb"
    source.parent.mkdir(parents=True)
    source.write_text("class OrderPolicy\n  def show? = owner?\n\n  private\n\n  def owner? = true\nend\n")
    (tmp_path / "Gemfile").touch()
    [found] = analyze(str(source), MethodRef(method="show?")).plan["characteristics"]
    assert found["wording"]["subject"] == "user"
