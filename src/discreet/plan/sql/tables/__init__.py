"""Tables by name: the private ones, joined by the person's id, and the public ones, in which rows look themselves up."""
