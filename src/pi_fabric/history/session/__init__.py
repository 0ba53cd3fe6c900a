"""Pi's session log: read, branched, and as Pi itself puts it into the model's context."""
