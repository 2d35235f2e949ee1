"""Tasks: what is asked, each with its estimate."""
