"""Public facts about private data."""
