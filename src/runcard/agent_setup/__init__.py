"""Setting up agent tools so that they record themselves: their settings files, the hooks in these, and what hooks leave behind."""
