"""What a user can do with test plans: a module for each. Results are values; nothing here prints."""
