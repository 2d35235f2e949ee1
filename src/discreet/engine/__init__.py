"""A plan and a table make exact integers: the only room that reads data."""
