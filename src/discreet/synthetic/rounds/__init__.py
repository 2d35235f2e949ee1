"""What is measured for synthetic data, round by round: what comes next, at what cost, of which cells."""
