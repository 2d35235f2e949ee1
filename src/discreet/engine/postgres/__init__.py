"""PostgreSQL: its session, its SQL, and what its cells become."""
