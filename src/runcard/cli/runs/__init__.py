"""Commands about runs: run, close, rerun, export, import-bundle."""
