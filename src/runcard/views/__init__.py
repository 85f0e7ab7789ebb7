"""How people see records."""
