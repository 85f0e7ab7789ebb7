"""Test plans: what the tests of one Ruby method must cover, handed from agent to agent."""
