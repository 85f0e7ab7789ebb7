"""Work on a cluster whose scheduler is restarted, and then stays away: a process of its own, as a command is.

A client that loses its scheduler leaves a socket to the library, which the process has until its end.
"""

import json
import os
import sys
from pathlib import Path

from cluster.dask_processes import DaskProcesses
from cluster.shard_work import here, pid_of
from runcard.errors import ClusterError
from runcard.parallel import cluster
from runcard.parallel.cluster import use_cluster
from runcard.parallel.forks import work_in_order


def main(folder: Path) -> None:
    own = DaskProcesses(folder)
    message = ""
    try:
        own.start()
        with use_cluster(address=own.address):
            results = work_in_order(range(60), pid_of, place=here)
            found = [next(results)]
            own.stop()
            own.start()
            found += [next(results) for _ in range(30)]
            own.stop()
            cluster._PATIENCE = 1
            try:
                found += results
            except ClusterError as error:
                message = error.message
    finally:
        own.stop()
    sys.stdout.write(json.dumps({"found": found, "message": message, "pid": os.getpid()}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
