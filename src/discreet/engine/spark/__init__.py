"""Everything that is Spark's alone: sources, cleaning, the session, its dialect; by the DataFrame and SQL interface only."""
