"""What is learnt without a target: centres, and the ranges of columns."""
