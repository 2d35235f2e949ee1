"""Tables with margins: which levels are measured, what all of them say together, and how questions asked together agree."""
