"""Commands about archives: archive, restore, extract, prune."""
