"""Commands about sessions: collect, log."""
