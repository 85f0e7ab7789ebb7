"""`python -m runcard` is the same as `runcard`."""

import sys

from runcard.cli.main import main

sys.exit(main())
