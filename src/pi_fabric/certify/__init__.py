"""Floor 10: certification, and the benchmark of resuming real work."""
