"""Floor 4: deterministic summaries, pure: no clock, no I/O."""
