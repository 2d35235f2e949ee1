"""The matrix mechanism: linear questions of one table measured together, and sums of a stream."""
