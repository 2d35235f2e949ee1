"""Rows that only a mechanism opens: blocks of them, and the clipped sums that learners are made of."""
