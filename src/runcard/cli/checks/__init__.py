"""Commands that look at records and check them: show, validate, verify, ledger, config, schema."""
