"""Laws of sums of noises."""
