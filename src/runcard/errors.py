"""The exception tree, by who must act. The exit codes for them are in `cli.exit_codes`.

It imports nothing, so that every module may use it. Checks do not raise: they return findings; the errors here
stop the work. `hint` says what to do.
"""


class RuncardError(Exception):
    """The base class of all errors that runcard raises on purpose."""

    details: tuple[str, ...] = ()  # lines to print below the message

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        message, hint = without_key(message), hint and without_key(hint)
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:
            self.add_note(f"hint: {hint}")  # a traceback shows it

    def __reduce__(self) -> "tuple[object, ...]":
        """For pickle, which would call the class with the message alone: another process gets the same error."""
        return _restored, (type(self), self.args, self.__dict__)

    @property
    def full_hint(self) -> str | None:
        """The hint with the details, where there is room for one line only."""
        return f"{self.hint}: {'; '.join(self.details)}" if self.hint and self.details else self.hint


def _restored(
    kind: type[RuncardError], arguments: tuple[object, ...], facts: dict[str, object]
) -> RuncardError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(facts)
    return error


def without_key(text: str) -> str:
    """A message without the private key that somebody passed in place of the path of its file."""
    start, begin, rest = text.partition("-----BEGIN ")
    if not begin or "PRIVATE KEY-----" not in rest:
        return text
    _, end, after = rest.partition("-----END ")
    return f"{start}(a private key){without_key(after.partition('-----')[2]) if end else ''}"


class DocumentError(RuncardError):
    """The author of a document must act."""


class EncodingError(DocumentError):
    """Bytes that cannot be decoded, or data that cannot be encoded."""

    def __init__(
        self,
        rule: str,
        message: str,
        *,
        line: int | None = None,
        column: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.rule = rule
        self.line = line
        self.column = column


class StoreError(RuncardError):
    """The owner of a store must act: a file is missing, damaged, in the way or sealed."""


class UsageError(RuncardError):
    """The caller must act: the arguments are wrong."""

    is_in_command_line = True  # and not in a settings file, for example


class MachineError(RuncardError):
    """The administrator of the machine must act: permissions, a full disk, a failing device."""


class ClusterError(MachineError):
    """Work cannot be spread: there is no scheduler, no worker, or workers without the files or with another runcard.

    It is about no record, and so it is never a finding.
    """


class RuncardWarning(UserWarning):
    """Something went wrong, and the work continued."""
