"""The version of the program that generated, among the other facts of an environment."""

import pytest

from runcard.documents.run.application import labelled_versions, program_versions, version_key


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("persona", "persona_version"),
        ("My-Persona", "my_persona_version"),
        ("a.-_b", "a_b_version"),
        ("Runcard", None),
        ("python", None),
    ],
)
def test_the_key_of_a_program(name: str, key: str | None) -> None:
    assert version_key(name) == key


def test_only_versions_of_programs_are_found() -> None:
    environment = {
        "runcard_version": "0.1.0",
        "python_version": "3.12.0",
        "persona_version": "0.9.0",
        "my_tool_version": "1",
        "unknown_version": None,
        "number_version": 3,
        "a | b_version": "1",
        "\x1b_version": "1",
        "persona_version\n": "1",
        "_version": "1",
        "platform": "linux",
    }
    assert program_versions(environment) == {"persona_version": "0.9.0", "my_tool_version": "1"}
    assert labelled_versions(environment) == [("persona version", "0.9.0"), ("my tool version", "1")]


def test_a_document_without_the_version_of_runcard_has_its_own() -> None:
    environment = {"persona_version": "0.9.0", "python_version": None, "platform": None, "timezone": None}
    assert program_versions(environment) == {"persona_version": "0.9.0"}
