"""Texts in a curator's table: which words enough people share, how many have them, and what follows from that."""
