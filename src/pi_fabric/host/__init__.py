"""Floor 9: the places the engine lives in. Nothing outside this package knows that Pi exists."""
