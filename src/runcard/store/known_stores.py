"""Which stores this user has, so that a question can be asked of all. A store is noted when a record is first closed in it."""

from runcard.files.known_folders import KnownFolders

_STORES = KnownFolders("stores")

note_store = _STORES.note
forget_store = _STORES.forget
known_stores = _STORES.all
