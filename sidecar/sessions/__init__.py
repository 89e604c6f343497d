"""Conversations as memory: what is exported from where, and who may see it."""
