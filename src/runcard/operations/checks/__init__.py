"""Looking at records and checking them."""
