"""What stands around models: synthetic rows to train any of them on, and pictures of what they are worth."""
