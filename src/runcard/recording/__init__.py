"""Record runs while they happen, and close them."""
