"""Analyses: what statisticians ask of a table, made of a few noisy numbers that are paid for once; all that follows is free."""
