"""in-toto Statements v1 about a record: the one that a signature of it covers, and SLSA provenance of its outputs."""

from runcard.documents.signed_statement import record_statement
from runcard.encoding import JsonObject
from runcard.interop.record_content import RecordContent
from runcard.interop.slsa_provenance import slsa_statement


def in_toto_statements(content: RecordContent) -> list[JsonObject]:
    """The statements of a record, unsigned: each is a line of an `.intoto.jsonl` file."""
    sealed = content.sealed
    own = [] if sealed is None else [record_statement(sealed.state, sealed.ledger, content.metadata.text)]
    return [*own, slsa_statement(content)]
