"""Statistics as SQL statements, whatever engine runs them."""
