"""`--workers` and `--cluster`: where the commands that read many records do their work."""

import functools
from collections.abc import Callable

from runcard.cli import declare

WORKERS = declare.option(
    "--workers",
    metavar="N",
    type="WORKER_COUNT",
    help="Spread the work over N processes on this machine. Needs `runcard[cluster]`.",
)
CLUSTER = declare.option(
    "--cluster",
    metavar="URL",
    help="Spread the work over the workers of the Dask scheduler at this address, such as tcp://10.0.0.5:8786.",
)


def with_cluster(function: Callable[..., int]) -> Callable[..., int]:
    """A command whose work is spread as its two options say."""

    @functools.wraps(function)
    def command(
        *arguments: object, workers: int | None = None, cluster: str | None = None, **options: object
    ) -> int:
        if workers is None and cluster is None:
            return function(*arguments, **options)
        from runcard.parallel.cluster import use_cluster  # noqa: PLC0415 - few spread their work

        with use_cluster(workers=workers, address=cluster):
            return function(*arguments, **options)

    return command


def declared_cluster_options(function: Callable[..., int]) -> Callable[..., int]:
    """The options of a command that is declared without click."""
    return WORKERS(CLUSTER(with_cluster(function)))


def cluster_options(function: Callable[..., int]) -> Callable[..., int]:
    """The options of a command of click."""
    from runcard.cli.options import click_decorator  # noqa: PLC0415 - it loads click

    return click_decorator(WORKERS)(click_decorator(CLUSTER)(with_cluster(function)))
