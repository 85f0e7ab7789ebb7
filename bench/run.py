"""All benchmarks in one table: runcard and its peers, measured in turns on the same machine.

make bench                  everything at full size
make bench ARGS=--quick     smaller sizes
make bench ARGS=startup     one part: startup, documents, hashing, recording, running, masking, collecting, archiving,
                            plans, ruby
"""

import sys

import archiving
import collecting
import documents
import hashing
import masking
import plans
import recording
import ruby
import running
import startup
from table import print_table

PARTS = {
    "startup": startup.measure,
    "documents": documents.measure,
    "hashing": hashing.measure,
    "recording": recording.measure,
    "running": running.measure,
    "masking": masking.measure,
    "collecting": collecting.measure,
    "archiving": archiving.measure,
    "plans": plans.measure,
    "ruby": ruby.measure,
}


def main() -> int:
    wanted = [argument for argument in sys.argv[1:] if argument in PARTS] or list(PARTS)
    rows = []
    for part in wanted:
        print(f"measuring {part} ...", file=sys.stderr)
        rows += PARTS[part](quick="--quick" in sys.argv)
    print_table(rows)
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
