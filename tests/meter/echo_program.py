"""A program under the name of a coding agent that prints how it was started, as a line of JSON."""

import json
import os
import signal
import sys


def main() -> None:
    facts = {
        "name": sys.argv[0],
        "arguments": sys.argv[1:],
        "variables": dict(os.environ),
        "directory": os.getcwd(),
        "pid": os.getpid(),
        "parent": os.getppid(),
        "input": sys.stdin.read() if "--read" in sys.argv else None,
        "blocked": sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))),
        "descriptors": sorted(map(int, os.listdir("/proc/self/fd")))[:3]
        if os.path.isdir("/proc/self")
        else [],
    }
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()
    if "--exit" in sys.argv:
        sys.exit(int(sys.argv[sys.argv.index("--exit") + 1]))
    if "--kill" in sys.argv:
        os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
