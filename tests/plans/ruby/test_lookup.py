"""Looking up a class and a method in a file, and suggestions."""

from pathlib import Path

import pytest

from plans.ruby.samples import written
from runcard.plans.ruby import LookupOutcome, TargetLookup, find_target

SHOP = """\
    module Shop
      class Order
        def total; end
        def self.build; end
        private

        def hidden; end
      end

      class Invoice
        def total; end
        def grand_total; end
      end

      module Admin
        class Order
          def audit; end
        end
      end
    end
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(written(tmp_path, SHOP))


def _found(lookup: TargetLookup) -> tuple[LookupOutcome, str | None, bool]:
    return lookup.outcome, lookup.class_name, lookup.is_short


@pytest.mark.parametrize("name", ["Shop::Order", "::Shop::Order"])
def test_a_method_is_found_by_the_full_name_of_its_class(file: str, name: str) -> None:
    lookup = find_target(file, name, "total", "instance")
    assert _found(lookup) == (LookupOutcome.FOUND, "Shop::Order", False)
    assert (lookup.line, lookup.suggestions, lookup.warnings) == (3, (), ())


def test_a_private_method_counts(file: str) -> None:
    assert find_target(file, "Shop::Order", "hidden", "instance").outcome is LookupOutcome.FOUND


def test_a_short_name_finds_the_class_that_has_the_method(file: str) -> None:
    assert _found(find_target(file, "Invoice", "total", "instance")) == (
        LookupOutcome.FOUND,
        "Shop::Invoice",
        True,
    )
    audited = find_target(file, "Order", "audit", "instance")
    assert _found(audited) == (LookupOutcome.FOUND, "Shop::Admin::Order", True)
    assert find_target(file, "Admin::Order", "audit", "instance").class_name == "Shop::Admin::Order"


@pytest.mark.parametrize(
    ("method", "asked", "there"),
    [("build", "instance", "Shop::Order.build"), ("total", "class", "Shop::Order#total")],
)
def test_a_method_of_the_other_type_is_told_apart(file: str, method: str, asked: str, there: str) -> None:
    lookup = find_target(file, "Shop::Order", method, asked)
    assert _found(lookup) == (LookupOutcome.OTHER_TYPE, "Shop::Order", False)
    assert lookup.suggestions == (there,)
    assert lookup.line is not None


def test_a_missing_method_suggests_its_neighbours_and_its_namesakes(file: str) -> None:
    near = find_target(file, "Shop::Invoice", "grand_totals", "instance")
    assert (near.outcome, near.line) == (LookupOutcome.NO_METHOD, None)
    assert near.suggestions == ("Shop::Invoice#grand_total",)
    elsewhere = find_target(file, "Shop::Order", "audit", "instance")
    assert elsewhere.suggestions == ("Shop::Admin::Order#audit",)


@pytest.mark.parametrize("name", ["Shop::Ordr", "Ordr", "Sho::Order", "Store::Order"])
def test_a_missing_class_suggests_those_with_a_similar_name(file: str, name: str) -> None:
    lookup = find_target(file, name, "total", "instance")
    assert _found(lookup) == (LookupOutcome.NO_CLASS, None, False)
    assert "Shop::Order" in lookup.suggestions


def test_nothing_similar_is_no_suggestion(file: str) -> None:
    assert find_target(file, "Payment", "x", "instance").suggestions == ()
    assert find_target(file, "Shop::Order", "zzz", "instance").suggestions == ()


def test_what_could_not_be_read_is_told_with_the_answer(tmp_path: Path) -> None:
    broken = written(tmp_path, "class A\n  def x(\n  end\n\n  def y; end\nend\n")
    lookup = find_target(str(broken), "A", "y", "instance")
    assert lookup.outcome is LookupOutcome.FOUND
    assert [trouble.line for trouble in lookup.warnings] == [2]
