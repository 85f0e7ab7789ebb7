"""Which cluster work is spread over now. Apart from `cluster`, so that work on one machine loads nothing for it."""

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runcard.parallel.cluster import WorkerCluster

CURRENT: "ContextVar[WorkerCluster | None]" = ContextVar("cluster", default=None)


def current_cluster() -> "WorkerCluster | None":
    """The cluster that work is spread over; None: it is done on this machine."""
    return CURRENT.get()
