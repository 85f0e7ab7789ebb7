"""One cluster for all tests: it takes seconds to start."""

from collections.abc import Iterator

import pytest

from cluster.dask_processes import DaskProcesses, start_dask_library


@pytest.fixture(scope="session", autouse=True)
def _dask_library() -> None:
    start_dask_library()


@pytest.fixture(scope="session")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    processes = DaskProcesses(tmp_path_factory.mktemp("dask"))
    try:
        processes.start()
        yield processes
    finally:
        processes.stop()
