"""What a user can do with test plans: one verb per module. Nothing here prints."""
