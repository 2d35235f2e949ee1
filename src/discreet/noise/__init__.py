"""Random integers whose distribution is exactly the one in the theorem, from the system's entropy."""
