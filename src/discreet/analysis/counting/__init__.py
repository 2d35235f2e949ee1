"""Counting questions, any set of them at once: what is measured so that all have the least error, and what follows from it."""
