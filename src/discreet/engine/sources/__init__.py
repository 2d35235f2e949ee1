"""Where tables come from: files, databases and frames, and what identifies what they hold."""
