"""What goes wrong with the catalog."""

from runcard.errors import StoreError


class CatalogError(StoreError):
    """The catalog cannot be used, or not be written: it is locked, read-only, on a full disk, damaged, or does not answer."""

    def __init__(
        self, message: str, *, hint: str | None = None, is_damaged: bool = False, is_shared: bool = False
    ) -> None:
        super().__init__(message, hint=hint)
        self.is_damaged = is_damaged
        self.is_shared = is_shared  # it is on a server, and has records of other machines, too
