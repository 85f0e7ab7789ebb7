"""The roles of a team document, and their synonyms."""

ROLES = (
    "architect",
    "frontend_developer",
    "backend_developer",
    "data_scientist",
    "devops",
    "designer",
    "qa_engineer",
    "security",
    "project_manager",
    "tech_writer",
    "general",
)

SYNONYMS = {
    "testing_specialist": "qa_engineer",
    "tester": "qa_engineer",
    "documentation_writer": "tech_writer",
    "technical_writer": "tech_writer",
    "docs": "tech_writer",
    "security_analyst": "security",
    "data_analyst": "data_scientist",
    "code_reviewer": "general",
    "reviewer": "general",
    "debugger": "general",
}


def known_role(word: str) -> str:
    """The role for a word: itself, the one it is a synonym of, or `general`."""
    return word if word in ROLES else SYNONYMS.get(word, "general")
