"""Recording runs, closing them, running them again."""
