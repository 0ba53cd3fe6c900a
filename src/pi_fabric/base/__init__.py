"""Floor 0: errors, bounds, JSON as JavaScript writes it, files, processes, clocks."""
