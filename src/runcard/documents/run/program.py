"""What the command of a run is: which program recorded it, and whether that can be started again.

`runcard run` records the command that it starts. `runcard.record` records the command line of the program that it is a part
of; that of a notebook's kernel, of an interactive shell or of a worker process starts nothing useful.
"""

import os
import re
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from runcard.documents.run.fields import RunFields
from runcard.encoding import JsonObject

_PYTHON = r"(python|pypy)[0-9.]*(\.exe)?"
_FLAGS = "-[bBdEhiIOPqRsSuvVx?]*"
_KERNELS = ("ipykernel", "colab_kernel_launcher")


class ProgramKind(Enum):
    """What recorded a run with `runcard.record`."""

    PROGRAM = "program"
    NOTEBOOK = "notebook"
    INTERACTIVE = "interactive"  # a shell, or a program that was read from standard input
    WORKER = "worker"  # a process of `multiprocessing` that does not fork


class ProgramProcess(NamedTuple):
    """The process that a program was started as; it may have workers."""

    host: object
    boot_id: object
    pid_namespace: object
    pid: int
    start: object


def is_recorded_by_program(document: JsonObject) -> bool:
    """Whether `runcard.record` made a run, not `runcard run`, which passes a trace on."""
    return "passed_on" not in (document.get("trace") or {})


def program_kind(command: Sequence[str]) -> ProgramKind:
    """What has this command line, as `sys.orig_argv` has it."""
    python, *arguments = command or [""]
    if not re.fullmatch(_PYTHON, os.path.basename(python)):
        return ProgramKind.PROGRAM
    option, value = _program(arguments)
    if value is None:
        return ProgramKind.INTERACTIVE
    name = os.path.basename(value)
    if option != "c" and name.startswith(_KERNELS):
        return ProgramKind.NOTEBOOK
    if option == "c" and value.startswith("from multiprocessing."):
        return ProgramKind.WORKER
    if option != "c" and name.startswith(("ipython", "IPython")):
        rest = arguments[arguments.index(value) + 1 :]
        has_program = any(not argument.startswith("-") or argument in {"-c", "-m"} for argument in rest)
        return ProgramKind.PROGRAM if has_program else ProgramKind.INTERACTIVE
    return ProgramKind.PROGRAM


def _program(arguments: Sequence[str]) -> tuple[str | None, str | None]:
    """The program in the arguments of Python, after the letter of its option, `c` or `m`; None for standard input."""
    words = iter(arguments)
    for word in words:
        if (program := re.fullmatch(rf"{_FLAGS}([cm])(.*)", word, re.DOTALL)) is not None:
            return program[1], program[2] or next(words, None)
        if not word.startswith("-"):
            return None, word
        if re.fullmatch(rf"{_FLAGS}[WX]|--check-hash-based-pycs", word):
            next(words, None)
    return None, None


def program_process(document: JsonObject) -> ProgramProcess | None:
    """The process of the program that recorded a run, the same for all its workers; None where it is unknown."""
    process = RunFields(document).process
    worker_of = process.get("worker_of")
    main = worker_of if isinstance(worker_of, dict) else process
    pid, start = main.get("pid"), main.get("start_ticks")
    start = main.get("started") if start is None else start
    if not isinstance(pid, int) or start is None:
        return None
    return ProgramProcess(
        process.get("host"), process.get("boot_id"), process.get("pid_namespace"), pid, start
    )
