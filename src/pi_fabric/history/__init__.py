"""Floor 2: what happened, as data: execution traces and the session log."""
