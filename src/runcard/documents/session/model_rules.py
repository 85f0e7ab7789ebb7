"""The rules for `models` of an instance, in the team document and in its own: the parts add up to the whole."""

from collections.abc import Iterator

from runcard.documents.exact_sums import all_known, exact_sum, money_agrees, plain_number, whole_sum
from runcard.documents.findings import Finding, display_value, finding
from runcard.documents.session.performance import TOKEN_CLASSES
from runcard.encoding import JsonObject


def model_rules(instance: JsonObject, at: str) -> Iterator[Finding]:
    """Compare the tokens and the cost of the models with those of the instance, where all are known."""
    models = [model or {} for model in instance.get("models") or ()]
    if not models:
        return
    tokens = instance.get("tokens") or {}
    for name in TOKEN_CLASSES:
        counts = all_known((model.get("tokens") or {}).get(name) for model in models)
        stated = tokens.get(name)
        if counts is not None and stated is not None and whole_sum(counts) != stated:
            total = whole_sum(counts)
            yield finding(
                "sum.tokens",
                f"{at}/tokens/{name}",
                f"{name} is {display_value(stated)}, but the models' tokens add up to {display_value(total)}",
                hint=f"write {display_value(total)}, or correct the models",
                expected=total,
                found=stated,
            )
    costs, stated = all_known(model.get("cost") for model in models), instance.get("cost")
    if costs is not None and stated is not None and not money_agrees(costs, stated):
        total_cost = plain_number(exact_sum(costs))
        yield finding(
            "sum.cost",
            f"{at}/cost",
            f"cost is {display_value(stated)}, but the models' dollars add up to {display_value(total_cost)}",
            hint=f"write {display_value(total_cost)}, or correct the models",
            expected=total_cost,
            found=stated,
        )
