"""What is decided about a collection, by options and settings."""

import os

from runcard import settings as known
from runcard.encoding import JsonObject
from runcard.masking import mask_data
from runcard.operations.sessions.copying import Wanted
from runcard.settings import Settings
from runcard.store.sessions.copying import CopyRules, check_patterns
from runcard.store.sessions.directory import Modes


class Choices:
    """What was decided about a collection, by options and settings."""

    def __init__(self, settings: Settings, schema: str, *, keep_secrets: bool) -> None:
        self.store = os.path.abspath(settings[known.ARTIFACTS_DIR])
        self.schema = schema
        self.modes = Modes(settings[known.ARTIFACTS_DIRECTORY_MODE], settings[known.ARTIFACTS_FILE_MODE])
        self._metadata_only = settings[known.ARTIFACTS_METADATA_ONLY]
        self._no_transcripts = settings[known.ARTIFACTS_NO_TRANSCRIPTS]
        self._keep_secrets = keep_secrets
        self.rules = CopyRules(
            include=settings[known.ARTIFACTS_PATTERNS],
            exclude=settings[known.ARTIFACTS_EXCLUDE_PATTERNS],
            gitignore=settings[known.ARTIFACTS_GITIGNORE],
            max_file_size=settings[known.ARTIFACTS_MAX_FILE_SIZE],
            max_size=settings[known.ARTIFACTS_MAX_SIZE],
            mask=settings[known.ARTIFACTS_MASK_WORKSPACES] and not keep_secrets,
            scan=not keep_secrets,
            kept_mode=0o700 | self.modes.folder | self.modes.file,
            skip=(self.store,),
        )
        check_patterns((*self.rules.include, *self.rules.exclude))

    @property
    def wanted(self) -> Wanted:
        return Wanted(
            workspaces=not self._metadata_only,
            transcripts=not (self._metadata_only or self._no_transcripts),
            rules=self.rules,
            keep_secrets=self._keep_secrets,
        )

    def to_dict(self) -> JsonObject:
        """The options as the record tells of them."""
        said = {
            "schema": self.schema,
            "include": list(self.rules.include),
            "exclude": list(self.rules.exclude),
            "gitignore": self.rules.gitignore,
            "max_file_size": self.rules.max_file_size,
            "max_size": self.rules.max_size,
            "mask_workspaces": self.rules.mask,
            "no_transcripts": self._no_transcripts,
            "metadata_only": self._metadata_only,
            "keep_secrets": self._keep_secrets,
        }
        return self.masked(said)

    def masked(self, said: JsonObject) -> JsonObject:
        """What may be written down."""
        without: JsonObject = said if self._keep_secrets else mask_data(said).value
        return without
