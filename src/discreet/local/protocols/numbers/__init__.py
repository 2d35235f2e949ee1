"""Protocols for numbers between public bounds: their mean, and their distribution."""
