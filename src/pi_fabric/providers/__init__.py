"""Floor 8: the namespaces a program can call; `compose.PROVIDERS` lists them."""
