"""Everything that is DuckDB's alone: sources, cleaning, the locked session, its dialect, and the engine."""
