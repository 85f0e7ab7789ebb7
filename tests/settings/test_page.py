"""The page of settings lists them all."""

from docs.pages import ROOT, code, rows
from runcard.settings import ALL


def test_the_table_of_settings_is_that_of_the_code() -> None:
    told = [
        (
            code(row["key"]),
            row["variable"],
            row["option"],
            row["default"],
            row["means"],
        )
        for row in rows(ROOT / "docs" / "settings.md", "key", "variable")
    ]
    assert told == [
        (
            setting.key,
            ", ".join(f"`{name}`" for name in setting.variables),
            f"`{setting.option}`" if setting.option else "",
            setting.value_type.show(setting.default),
            setting.about,
        )
        for setting in ALL
    ]
