"""The events of a session's journal, `audit.jsonl`: what `collect` did, in order."""

COLLECTION_STARTED = "collection.started"  # collected_by, producer, options, spec, findings, process
FILES_EXCLUDED = "files.excluded"  # instance_id, pattern, count
FILE_OMITTED = "file.omitted"  # instance_id, path, reason: as in `audit`
FILE_MASKED = "file.masked"  # path, source_sha256, sha256
INSTANCE_COLLECTED = (
    "instance.collected"  # instance_id; workspace, output, checksums: as in the instance document
)
COLLECTION_ENDED = "collection.ended"  # redactions; sections: the digest of each section of the team document
CALLS_LISTED = "calls.listed"  # calls: some of those of an imported session, each with its agent, its time and what it used
