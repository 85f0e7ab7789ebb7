"""Test plans, a wing of its own: what one method's tests must cover, handed from agent to agent."""
