"""The options of `collect`, from its arguments and the settings."""

import os
from collections.abc import Iterable

from runcard import settings as known
from runcard.encoding import JsonObject
from runcard.masking import mask_data
from runcard.settings import Settings
from runcard.store.sessions.copying import CopyRules, check_patterns
from runcard.store.sessions.directory import Modes


class CollectOptions:
    """The options of one collection; raises UsageError for a malformed pattern."""

    def __init__(
        self, settings: Settings, schema: str, *, keep_secrets: bool, skip: Iterable[str] = ()
    ) -> None:
        """`skip` are folders that are not copied, besides the store itself."""
        self.store = os.path.abspath(settings[known.ARTIFACTS_DIR])
        self.schema = schema
        self.modes = Modes(settings[known.ARTIFACTS_DIRECTORY_MODE], settings[known.ARTIFACTS_FILE_MODE])
        self.keep_secrets = keep_secrets
        self._metadata_only = settings[known.ARTIFACTS_METADATA_ONLY]
        self._no_transcripts = settings[known.ARTIFACTS_NO_TRANSCRIPTS]
        self.rules = CopyRules(
            include=settings[known.ARTIFACTS_PATTERNS],
            exclude=settings[known.ARTIFACTS_EXCLUDE_PATTERNS],
            gitignore=settings[known.ARTIFACTS_GITIGNORE],
            max_file_size=settings[known.ARTIFACTS_MAX_FILE_SIZE],
            max_size=settings[known.ARTIFACTS_MAX_SIZE],
            mask=settings[known.ARTIFACTS_MASK_WORKSPACES] and not keep_secrets,
            scan=not keep_secrets,
            kept_mode=0o700 | self.modes.folder | self.modes.file,
            skip=(self.store, *skip),
        )
        check_patterns((*self.rules.include, *self.rules.exclude))

    @property
    def copies_workspaces(self) -> bool:
        return not self._metadata_only

    @property
    def copies_transcripts(self) -> bool:
        return not (self._metadata_only or self._no_transcripts)

    def to_dict(self) -> JsonObject:
        """The options as they are recorded."""
        return self.mask(
            {
                "schema": self.schema,
                "include": list(self.rules.include),
                "exclude": list(self.rules.exclude),
                "gitignore": self.rules.gitignore,
                "max_file_size": self.rules.max_file_size,
                "max_size": self.rules.max_size,
                "mask_workspaces": self.rules.mask,
                "no_transcripts": self._no_transcripts,
                "metadata_only": self._metadata_only,
                "keep_secrets": self.keep_secrets,
            }
        )

    def mask(self, data: JsonObject) -> JsonObject:
        """The data with secrets masked, unless they are kept."""
        masked: JsonObject = data if self.keep_secrets else mask_data(data).value
        return masked
