"""How each kind of golden is compared: one check per kind, registered in `run.KINDS`."""
