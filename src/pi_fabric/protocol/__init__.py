"""Floor 1: seams only. What providers, hosts, engines and subscribers agree on."""
