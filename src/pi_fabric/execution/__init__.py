"""Floor 8: one `fabric_exec`, from the request to the sealed result."""
