"""Agent tools that record themselves: setting them up, and importing what their hooks note."""
