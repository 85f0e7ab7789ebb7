"""What a recorded command line starts."""

import pytest

from runcard.documents.run.program import ProgramKind, program_kind, program_process

SPAWN = "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5, pipe_handle=7)"


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (["python", "gen.py"], ProgramKind.PROGRAM),
        (["/usr/bin/python3.12", "-O", "gen.py", "-"], ProgramKind.PROGRAM),
        (["python", "-W", "ignore", "-Xdev", "gen.py"], ProgramKind.PROGRAM),
        (["python", "-c", "print()"], ProgramKind.PROGRAM),
        (["python", "-Ic", "print()"], ProgramKind.PROGRAM),
        (["python", "-m", "package"], ProgramKind.PROGRAM),
        (["python", "-mpackage"], ProgramKind.PROGRAM),
        (["python", "-Wdefault::ImportWarning"], ProgramKind.INTERACTIVE),
        (["python", "-X", "gen.py"], ProgramKind.INTERACTIVE),
        (["python"], ProgramKind.INTERACTIVE),
        (["python3", "-i"], ProgramKind.INTERACTIVE),
        (["python", "-"], ProgramKind.INTERACTIVE),
        (["python", "-c"], ProgramKind.INTERACTIVE),
        (["python", "/usr/bin/ipython"], ProgramKind.INTERACTIVE),
        (["python", "-m", "IPython", "--no-banner"], ProgramKind.INTERACTIVE),
        (["python", "/usr/bin/ipython", "gen.py"], ProgramKind.PROGRAM),
        (["python", "-m", "ipykernel_launcher", "-f", "k.json"], ProgramKind.NOTEBOOK),
        (["python3", "/usr/lib/colab_kernel_launcher.py", "-f", "k.json"], ProgramKind.NOTEBOOK),
        (["python", "-c", SPAWN, "--multiprocessing-fork"], ProgramKind.WORKER),
        (["ruby"], ProgramKind.PROGRAM),
        (["pythonista"], ProgramKind.PROGRAM),
        ([], ProgramKind.PROGRAM),
    ],
)
def test_the_kind_of_a_program(command: list[str], kind: ProgramKind) -> None:
    assert program_kind(command) is kind


def test_a_worker_belongs_to_the_process_that_started_it() -> None:
    machine = {"host": "a", "boot_id": "b"}
    main = {"generation": {"process": machine | {"pid": 7, "start_ticks": 70}}}
    worker_of = {"pid": 7, "start_ticks": 70}
    worker = {"generation": {"process": machine | {"pid": 9, "start_ticks": 90, "worker_of": worker_of}}}
    assert program_process(main) == program_process(worker) is not None
    later = {"generation": {"process": machine | {"pid": 7, "start_ticks": 71}}}
    assert program_process(main) != program_process(later)


@pytest.mark.parametrize("process", [None, {}, {"pid": "7", "start_ticks": 1}, {"pid": 7}, {"worker_of": {}}])
def test_a_process_that_is_not_known_is_no_program(process: object) -> None:
    assert program_process({"generation": {"process": process}}) is None
