"""Load the modules that a recording may need later, before it starts."""


def load_modules() -> None:
    """Load what a recording may need: later, a program may have lost the right to, or have too many files open.

    At its end, a program also forgets that it was interrupted if a module with named tuples is loaded.

    `runcard run` does without most of it, and starts sooner.
    """
    import base64  # noqa: F401, PLC0415
    import encodings.utf_16_be  # noqa: F401, PLC0415 - what keys are sorted by
    import pathlib  # noqa: F401, PLC0415
    import resource  # noqa: F401, PLC0415
    import tempfile  # noqa: F401, PLC0415

    import jsonschema_rs  # noqa: F401, PLC0415

    import runcard.accounting  # noqa: PLC0415
    import runcard.checksums.large_files  # noqa: PLC0415
    import runcard.documents.run.generation  # noqa: PLC0415
    import runcard.documents.run.metrics  # noqa: PLC0415
    import runcard.observe.git.worktree  # noqa: PLC0415
    import runcard.observe.input_patterns  # noqa: PLC0415
    import runcard.parallel.helper_pool  # noqa: PLC0415
    import runcard.store.known_stores  # noqa: PLC0415
    import runcard.views.metrics  # noqa: F401, PLC0415
