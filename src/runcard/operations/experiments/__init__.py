"""Create, find, list, show and delete experiments."""
