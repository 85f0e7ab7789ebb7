EXAMPLES: dict[str, tuple[str, ...]] = {}
