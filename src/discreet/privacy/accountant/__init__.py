"""Composition: certified bounds on what many uses cost together, and the methods that compute them."""
