"""The sampling half of an audit: fresh runs, what is learned from them, and bets against the claim."""
